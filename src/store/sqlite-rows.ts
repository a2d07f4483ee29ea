/**
 * Rows of the SQLite tables and the values that they stand for.
 *
 * @module
 */
import type { AttemptRow, ResourcesRow, RolloutHead, RolloutRow, WorkerRow } from "./rows.ts";
import { hasLimits } from "./rules/attempts.ts";
import type { SqliteValue } from "./sqlite-driver.ts";

/** A row as the library gives it. */
export type Columns = Record<string, SqliteValue>;

/** Columns that every rule needs. */
export const ROLLOUT_HEAD =
  "rollout_id, status, queue_position, latest_attempt_id, mode, resources_id, start_time, end_time, config";
/** All columns of a rollout but the key. */
export const ROLLOUT_ALL = `${ROLLOUT_HEAD}, extra, metadata, input`;
/** All columns of an attempt but the key. */
export const ATTEMPT_ALL =
  "rollout_id, attempt_id, sequence_id, status, start_time, end_time, last_heartbeat_time, worker_id, metadata";

/** Values of columns that hold JSON or are derived; the others are kept as they are. */
const ENCODED: Readonly<Record<string, true>> = {
  config: true,
  extra: true,
  metadata: true,
  input: true,
  resources: true,
  heartbeat_stats: true,
};

/** The columns that hold `row`, whole or in part. */
export function encode(row: object): Columns {
  const columns: Columns = {};
  for (const [name, value] of Object.entries(row)) {
    // A task may be null, and its column never is: it is the text "null" then.
    columns[name] =
      ENCODED[name] && (value !== null || name === "input") ? JSON.stringify(value) : (value as SqliteValue);
    if (name === "config") columns["limited"] = hasLimits(value) ? 1 : 0;
  }
  return columns;
}

function json<T>(value: SqliteValue | undefined): T {
  return (value === null || value === undefined ? null : JSON.parse(value as string)) as T;
}

/** A rollout without its large columns. */
export function toHead(row: Columns): RolloutHead {
  return {
    rollout_id: row["rollout_id"] as string,
    start_time: row["start_time"] as number,
    end_time: row["end_time"] as number | null,
    mode: row["mode"] as RolloutHead["mode"],
    resources_id: row["resources_id"] as string | null,
    status: row["status"] as RolloutHead["status"],
    config: json(row["config"]),
    queue_position: row["queue_position"] as number | null,
    latest_attempt_id: row["latest_attempt_id"] as string | null,
  };
}

/** A rollout. */
export function toRolloutRow(row: Columns): RolloutRow {
  return {
    ...toHead(row),
    input: json(row["input"]),
    metadata: json(row["metadata"]),
    extra: json(row["extra"]),
  };
}

/** An attempt; `prefix` is that of its columns in a join. */
export function toAttemptRow(row: Columns, prefix = ""): AttemptRow {
  const at = (name: string): SqliteValue => row[prefix + name] as SqliteValue;
  return {
    rollout_id: at("rollout_id") as string,
    attempt_id: at("attempt_id") as string,
    sequence_id: at("sequence_id") as number,
    start_time: at("start_time") as number,
    end_time: at("end_time") as number | null,
    status: at("status") as AttemptRow["status"],
    worker_id: at("worker_id") as string | null,
    last_heartbeat_time: at("last_heartbeat_time") as number | null,
    metadata: json(at("metadata")),
  };
}

/** A worker. */
export function toWorkerRow(row: Columns): WorkerRow {
  const { key: _key, heartbeat_stats, ...rest } = row;
  return { ...rest, heartbeat_stats: json(heartbeat_stats) } as unknown as WorkerRow;
}

/** A set of resources. */
export function toResourcesRow(row: Columns): ResourcesRow {
  const { key: _key, resources, ...rest } = row;
  return { ...rest, resources: json(resources) } as unknown as ResourcesRow;
}
