/**
 * Compiles a selection to SQL.
 *
 * @module
 */
import type { Condition, Selection } from "./selection.ts";
import type { SqliteValue } from "./sqlite-driver.ts";

/** A query's text and values. The text depends only on the query's shape, so that few statements serve all calls. */
export interface CompiledSelection {
  where: string;
  /** Values of `where`. */
  values: SqliteValue[];
  /** ORDER BY, LIMIT and OFFSET. */
  page: string;
  /** Values of `page`, to be bound after those of `where`. */
  pageValues: SqliteValue[];
}

/** SQL for `selection` over the table with this alias, whose `key` rises by insertion. */
export function compileSelection(selection: Selection, alias: string): CompiledSelection {
  const values: SqliteValue[] = [];
  const all = (conditions: readonly Condition[], joint: string): string =>
    conditions.map((condition) => compileCondition(condition, alias, values)).join(joint);
  const parts: string[] = [];
  if (selection.must.length > 0) parts.push(all(selection.must, " AND "));
  if (selection.pool.length > 0)
    parts.push(`(${all(selection.pool, selection.logic === "and" ? " AND " : " OR ")})`);
  return {
    where: parts.length === 0 ? "" : `WHERE ${parts.join(" AND ")}`,
    values,
    page: `ORDER BY ${order(selection, alias)} LIMIT ? OFFSET ?`,
    pageValues: [selection.limit, selection.offset],
  };
}

function compileCondition(condition: Condition, alias: string, values: SqliteValue[]): string {
  const column = `${alias}.${condition.field}`;
  if (condition.op === "within") {
    // One value for a list of any length.
    values.push(JSON.stringify(condition.value));
    return `${column} IN (SELECT value FROM json_each(?))`;
  }
  values.push(condition.value);
  // instr and not LIKE: case-sensitive, and no character has a meaning.
  return condition.op === "exact" ? `${column} = ?` : `instr(${column}, ?) > 0`;
}

function order({ sort }: Selection, alias: string): string {
  if (sort === null) return `${alias}.key`;
  const column = `${alias}.${sort.field}`;
  const direction = sort.descending ? "DESC" : "ASC";
  switch (sort.kind) {
    case "time":
      return `${column} IS NULL ${direction}, ${column} ${direction}, ${alias}.key`;
    case "text":
      return `coalesce(${column}, '') ${direction}, ${alias}.key`;
    default:
      // No `number` field can be missing; a bare column lets the index give the order.
      return `${column} ${direction}, ${alias}.key`;
  }
}
