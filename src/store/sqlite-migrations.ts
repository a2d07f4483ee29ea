/**
 * The schema of the SQLite file as numbered steps. A step that was released never changes; a new need is a new step.
 *
 * @module
 */

/** Marks a file as ours (`PRAGMA application_id`). */
export const APPLICATION_ID = 0x41474c53;

/** Step n brings a file from version n to n + 1. */
export const MIGRATIONS: readonly string[] = [
  // Large columns come last: reading a row's first columns then touches none of the pages that they overflow to.
  `CREATE TABLE rollouts (
     key INTEGER PRIMARY KEY,
     rollout_id TEXT NOT NULL UNIQUE,
     status TEXT NOT NULL,
     queue_position INTEGER,
     latest_attempt_id TEXT,
     limited INTEGER NOT NULL,
     mode TEXT,
     resources_id TEXT,
     start_time REAL NOT NULL,
     end_time REAL,
     config TEXT NOT NULL,
     extra TEXT,
     metadata TEXT,
     input TEXT NOT NULL
   );
   CREATE UNIQUE INDEX rollouts_queue ON rollouts (queue_position) WHERE queue_position IS NOT NULL;
   CREATE INDEX rollouts_status ON rollouts (status);

   CREATE TABLE attempts (
     key INTEGER PRIMARY KEY,
     rollout_id TEXT NOT NULL REFERENCES rollouts (rollout_id),
     attempt_id TEXT NOT NULL,
     sequence_id INTEGER NOT NULL,
     status TEXT NOT NULL,
     start_time REAL NOT NULL,
     end_time REAL,
     last_heartbeat_time REAL,
     worker_id TEXT,
     metadata TEXT,
     UNIQUE (rollout_id, attempt_id),
     UNIQUE (rollout_id, sequence_id)
   );
   CREATE INDEX attempts_live ON attempts (worker_id)
     WHERE worker_id IS NOT NULL AND status IN ('preparing', 'running');

   CREATE TABLE spans (
     key INTEGER PRIMARY KEY,
     rollout_id TEXT NOT NULL,
     attempt_id TEXT NOT NULL,
     sequence_id INTEGER NOT NULL,
     trace_id TEXT NOT NULL,
     span_id TEXT NOT NULL,
     parent_id TEXT,
     name TEXT NOT NULL,
     start_time REAL,
     end_time REAL,
     event TEXT,
     text TEXT NOT NULL,
     UNIQUE (rollout_id, attempt_id, span_id)
   );
   CREATE INDEX spans_order ON spans (rollout_id, sequence_id);

   CREATE TABLE sequences (
     rollout_id TEXT PRIMARY KEY,
     last INTEGER NOT NULL
   ) WITHOUT ROWID;

   CREATE TABLE workers (
     key INTEGER PRIMARY KEY,
     worker_id TEXT NOT NULL UNIQUE,
     status TEXT NOT NULL,
     last_heartbeat_time REAL,
     last_dequeue_time REAL,
     last_busy_time REAL,
     last_idle_time REAL,
     current_rollout_id TEXT,
     current_attempt_id TEXT,
     heartbeat_stats TEXT
   );

   CREATE TABLE resources (
     key INTEGER PRIMARY KEY,
     resources_id TEXT NOT NULL UNIQUE,
     revision INTEGER NOT NULL UNIQUE,
     version INTEGER NOT NULL,
     create_time REAL NOT NULL,
     update_time REAL NOT NULL,
     resources TEXT NOT NULL
   );

   -- Counting a large table takes a walk over it; the spans are counted as they come.
   CREATE TABLE totals (
     name TEXT PRIMARY KEY,
     value INTEGER NOT NULL
   ) WITHOUT ROWID;
   INSERT INTO totals VALUES ('spans', 0), ('span_bytes', 0);`,

  // Holds JSON as text, and OTLP as a blob: an older release would not know the second.
  `ALTER TABLE spans RENAME COLUMN text TO content;`,
];
