/**
 * Keeps rows in a SQLite file. Nothing of them stays in memory.
 *
 * @module
 */
import type { Selected, StoreBackend } from "./backend.ts";
import { type SpanColumns, type SpanContent, toAttemptedRollout, toResources } from "./rows.ts";
import type { Selection } from "./selection.ts";
import { spanFrom } from "./span-content.ts";
import type { SqliteValue } from "./sqlite-driver.ts";
import type { SqliteFile } from "./sqlite-file.ts";
import {
  ATTEMPT_ALL,
  type Columns,
  encode,
  ROLLOUT_ALL,
  ROLLOUT_HEAD,
  toAttemptRow,
  toHead,
  toResourcesRow,
  toRolloutRow,
  toWorkerRow,
} from "./sqlite-rows.ts";
import { compileSelection } from "./sqlite-select.ts";

const LATEST = "l_";
const ROLLOUT_WITH_LATEST = `${ROLLOUT_ALL.split(", ")
  .map((name) => `r.${name}`)
  .join(", ")}, ${ATTEMPT_ALL.split(", ")
  .map((name) => `a.${name} AS ${LATEST}${name}`)
  .join(", ")}`;

/** Rows in `file`, which the backend closes. */
export function createSqliteBackend(file: SqliteFile): StoreBackend {
  const one = <T>(sql: string, values: SqliteValue[], decode: (row: Columns) => T): T | null => {
    const row = file.statement(sql).get(...values) as Columns | undefined;
    return row === undefined ? null : decode(row);
  };
  const many = <T>(sql: string, values: SqliteValue[], decode: (row: Columns) => T): T[] =>
    (file.statement(sql).all(...values) as Columns[]).map((row) => decode(row));
  const number = (sql: string, ...values: SqliteValue[]): number =>
    one(sql, values, (row) => row["n"] as number) ?? 0;

  const insert = (table: string, row: object, conflict = ""): void => {
    const columns = encode(row);
    const names = Object.keys(columns);
    const marks = names.map(() => "?").join(", ");
    file
      .statement(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks}) ${conflict}`)
      .run(...Object.values(columns));
  };
  const update = (table: string, changes: object, where: string, values: SqliteValue[]): void => {
    const columns = encode(changes);
    const sets = Object.keys(columns).map((name) => `${name} = ?`);
    file
      .statement(`UPDATE ${table} SET ${sets.join(", ")} WHERE ${where}`)
      .run(...Object.values(columns), ...values);
  };
  const upsert = (table: string, id: string, row: object): void => {
    const sets = Object.keys(row).map((name) => `${name} = excluded.${name}`);
    insert(table, row, `ON CONFLICT (${id}) DO UPDATE SET ${sets.join(", ")}`);
  };

  const select = <T>(
    from: string,
    alias: string,
    columns: string,
    join: string,
    selection: Selection,
    decode: (row: Columns) => T,
  ): Selected<T> => {
    const { where, values, page, pageValues } = compileSelection(selection, alias);
    const items = many(
      `SELECT ${columns} FROM ${from} ${alias} ${join} ${where} ${page}`,
      [...values, ...pageValues],
      decode,
    );
    // Without a limit the page itself tells the total, except that an offset past the end shows nothing.
    const whole = selection.limit === -1 && (items.length > 0 || selection.offset === 0);
    const total = whole
      ? selection.offset + items.length
      : number(`SELECT count(*) AS n FROM ${from} ${alias} ${where}`, ...values);
    return { items, total };
  };

  const spanOf = (row: Columns) => spanFrom(row as unknown as SpanColumns, row["content"] as SpanContent);
  // Added up over a transaction's spans and written once, by `flushTotals`.
  let newSpans = 0;
  let newBytes = 0;
  const flushTotals = (): void => {
    if (newSpans === 0) return;
    const add = file.statement("UPDATE totals SET value = value + ? WHERE name = ?");
    add.run(newSpans, "spans");
    add.run(newBytes, "span_bytes");
  };

  return {
    name: "SqliteLightningStore",
    write(work) {
      newSpans = 0;
      newBytes = 0;
      return file.write(() => {
        const result = work();
        flushTotals();
        return result;
      });
    },
    read: (work) => file.read(work),
    // Each read decodes anew.
    isolate: (value) => value,

    insertRollout: (row) => insert("rollouts", row),
    updateRollout: (rolloutId, changes) => update("rollouts", changes, "rollout_id = ?", [rolloutId]),
    rollout: (rolloutId) =>
      one(`SELECT ${ROLLOUT_ALL} FROM rollouts WHERE rollout_id = ?`, [rolloutId], toRolloutRow),
    rolloutHead: (rolloutId) =>
      one(`SELECT ${ROLLOUT_HEAD} FROM rollouts WHERE rollout_id = ?`, [rolloutId], toHead),
    queued: (limit) =>
      many(
        `SELECT ${ROLLOUT_ALL} FROM rollouts WHERE queue_position IS NOT NULL ORDER BY queue_position LIMIT ?`,
        [limit],
        toRolloutRow,
      ),
    queueTail: () =>
      number(
        "SELECT coalesce(max(queue_position), 0) + 1 AS n FROM rollouts WHERE queue_position IS NOT NULL",
      ),
    limited: () =>
      many(
        `SELECT ${ROLLOUT_HEAD} FROM rollouts WHERE status IN ('preparing', 'running') AND limited = 1 ORDER BY key`,
        [],
        toHead,
      ),

    insertAttempt: (row) => insert("attempts", row),
    updateAttempt: (rolloutId, attemptId, changes) =>
      update("attempts", changes, "rollout_id = ? AND attempt_id = ?", [rolloutId, attemptId]),
    attempt: (rolloutId, attemptId) =>
      one(
        `SELECT ${ATTEMPT_ALL} FROM attempts WHERE rollout_id = ? AND attempt_id = ?`,
        [rolloutId, attemptId],
        toAttemptRow,
      ),
    liveAttempt: (workerId) =>
      one(
        `SELECT a.* FROM attempts a JOIN rollouts r ON r.rollout_id = a.rollout_id
         WHERE a.worker_id = ? AND a.status IN ('preparing', 'running') AND r.latest_attempt_id = a.attempt_id
         ORDER BY a.key DESC LIMIT 1`,
        [workerId],
        toAttemptRow,
      ),

    insertSpan(row) {
      const { content, event } = row;
      const { changes } = file
        .statement(
          `INSERT INTO spans (rollout_id, attempt_id, sequence_id, trace_id, span_id, parent_id, name, start_time,
             end_time, event, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (rollout_id, attempt_id, span_id) DO NOTHING`,
        )
        .run(
          row.rollout_id,
          row.attempt_id,
          row.sequence_id,
          row.trace_id,
          row.span_id,
          row.parent_id,
          row.name,
          row.start_time,
          row.end_time,
          event,
          content,
        );
      if (Number(changes) === 0) return false;
      newSpans++;
      newBytes += Buffer.byteLength(content) + (event === null ? 0 : Buffer.byteLength(event));
      return true;
    },
    span: (rolloutId, attemptId, spanId) =>
      one(
        "SELECT * FROM spans WHERE rollout_id = ? AND attempt_id = ? AND span_id = ?",
        [rolloutId, attemptId, spanId],
        spanOf,
      ),
    sequence: (rolloutId) => number("SELECT last AS n FROM sequences WHERE rollout_id = ?", rolloutId),
    setSequence(rolloutId, sequenceId) {
      file
        .statement(
          "INSERT INTO sequences VALUES (?, ?) ON CONFLICT (rollout_id) DO UPDATE SET last = excluded.last",
        )
        .run(rolloutId, sequenceId);
    },

    worker: (workerId) => one("SELECT * FROM workers WHERE worker_id = ?", [workerId], toWorkerRow),
    putWorker: (row) => upsert("workers", "worker_id", row),
    resources: (resourcesId) =>
      one("SELECT * FROM resources WHERE resources_id = ?", [resourcesId], toResourcesRow),
    latestResources: () => one("SELECT * FROM resources ORDER BY revision DESC LIMIT 1", [], toResourcesRow),
    putResources: (row) => upsert("resources", "resources_id", row),

    selectRollouts: (selection) =>
      select(
        "rollouts",
        "r",
        ROLLOUT_WITH_LATEST,
        "LEFT JOIN attempts a ON a.rollout_id = r.rollout_id AND a.attempt_id = r.latest_attempt_id",
        selection,
        (row) =>
          toAttemptedRollout(
            toRolloutRow(row),
            row[`${LATEST}attempt_id`] === null ? null : toAttemptRow(row, LATEST),
          ),
      ),
    selectAttempts: (selection) => select("attempts", "a", ATTEMPT_ALL, "", selection, toAttemptRow),
    selectSpans: (selection) => select("spans", "s", "s.*", "", selection, spanOf),
    selectWorkers: (selection) => select("workers", "w", "w.*", "", selection, toWorkerRow),
    selectResources: (selection) =>
      select("resources", "v", "v.*", "", selection, (row) => toResources(toResourcesRow(row))),
    totals() {
      const total = (name: string): number => number("SELECT value AS n FROM totals WHERE name = ?", name);
      const count = (table: string): number => number(`SELECT count(*) AS n FROM ${table}`);
      return {
        rollouts: count("rollouts"),
        attempts: count("attempts"),
        spans: total("spans"),
        resources: count("resources"),
        workers: count("workers"),
        spanBytes: total("span_bytes"),
      };
    },
    close: () => file.close(),
  };
}
