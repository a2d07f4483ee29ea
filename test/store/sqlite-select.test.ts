import { describe, expect, it } from "vitest";
import { rolloutSelection, type Selection, spanSelection } from "../../src/store/selection.ts";
import { openDatabase } from "../../src/store/sqlite-driver.ts";
import { MIGRATIONS } from "../../src/store/sqlite-migrations.ts";
import { compileSelection } from "../../src/store/sqlite-select.ts";

const db = openDatabase(":memory:").db;
for (const step of MIGRATIONS) db.exec(step);

const plan = (table: string, selection: Selection): string => {
  const { where, values, page, pageValues } = compileSelection(selection, "t");
  const sql = `EXPLAIN QUERY PLAN SELECT * FROM ${table} t ${where} ${page}`;
  const rows = db.prepare(sql).all(...values, ...pageValues) as { detail: string }[];
  return rows.map(({ detail }) => detail).join("; ");
};

describe("the plan of a query", () => {
  it("reads a page of a rollout's spans along the index, and sorts nothing", () => {
    const page = { rollout_id: "ro-1", limit: 10, offset: 20 };
    const found = "SEARCH t USING INDEX spans_order (rollout_id=?)";
    expect(plan("spans", spanSelection(page, null))).toBe(found);
    expect(plan("spans", spanSelection({ ...page, name_contains: "tool" }, null))).toBe(found);
  });

  it("reads the spans of an attempt, or one span, by index", () => {
    const query = { rollout_id: "ro-1", span_id: "00" };
    expect(plan("spans", spanSelection(query, "at-1"))).toContain(
      "(rollout_id=? AND attempt_id=? AND span_id=?)",
    );
    expect(plan("spans", spanSelection({ rollout_id: "ro-1" }, "at-1"))).toContain("SEARCH t USING INDEX");
  });

  it("reads a page of rollouts in the order of the table, and by status or id by index", () => {
    expect(plan("rollouts", rolloutSelection({ limit: 10 }))).toBe("SCAN t");
    expect(plan("rollouts", rolloutSelection({ rollout_id_in: ["ro-1"], limit: 10 }))).toContain(
      "(rollout_id=?)",
    );
    expect(plan("rollouts", rolloutSelection({ status_in: ["queuing"], limit: 10 }))).toContain(
      "SEARCH t USING INDEX rollouts_status (status=?)",
    );
  });
});
