/**
 * Opens and checks the SQLite file, keeps its prepared statements, and turns its errors into ours.
 *
 * @module
 */
import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { AglError } from "../errors.ts";
import { quietly } from "../internal/quietly.ts";
import { type Checkpoints, createCheckpoints } from "./sqlite-checkpoints.ts";
import {
  openDatabase,
  type SqliteDatabase,
  type SqliteLibrary,
  type SqliteStatement,
} from "./sqlite-driver.ts";
import { APPLICATION_ID, MIGRATIONS } from "./sqlite-migrations.ts";

// A checkpoint waits for the disk: the writer makes one itself only when the log has outgrown the thread that makes
// the others (384 MB at the default page size), or where there is no such thread (16 MB).
const LAST_CHECKPOINT_PAGES = 96_000;
const OWN_CHECKPOINT_PAGES = 4_000;

/** How the file is opened. */
export interface SqliteFileOptions {
  path: string;
  library?: SqliteLibrary | "auto";
  /** Milliseconds to wait for another process's transaction. */
  busyTimeoutMs: number;
  /** `normal`: what was acknowledged outlives the process; `full`: also the machine's power. */
  durability: "normal" | "full";
}

/** An open and checked file. */
export interface SqliteFile {
  /** The statement of this text, prepared once. */
  statement(sql: string): SqliteStatement;
  write<T>(work: () => T): T;
  read<T>(work: () => T): T;
  close(): Promise<void>;
}

/** Opens the file, brings its schema up to date, and refuses one that is not ours with `invalid_argument`. */
export function openSqliteFile(options: SqliteFileOptions): SqliteFile {
  const { path } = options;
  const inMemory = path === ":memory:";
  if (!inMemory && !existsSync(dirname(path))) {
    throw new AglError(
      "invalid_argument",
      `Cannot open ${path}: the folder ${dirname(path)} does not exist; make it first`,
    );
  }
  if (existsSync(path) && statSync(path).isDirectory()) {
    throw new AglError("invalid_argument", `Cannot open ${path}: it is a folder; name a file in it`);
  }
  let db: SqliteDatabase | undefined;
  let module: string;
  try {
    const opened = openDatabase(path, options.library);
    const open = opened.db;
    db = open;
    module = opened.module;
    db.exec(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`);
    // In one transaction: another process may be making the schema right now.
    if (
      transaction(db, "DEFERRED", () => pragma(open, "application_id") !== APPLICATION_ID && !isEmpty(open))
    ) {
      throw new AglError("invalid_argument", `${path} is a database of another program; choose another file`);
    }
    db.exec("PRAGMA journal_mode = WAL");
    // The end of each transaction walks over the cache, and what is not in it the system has.
    db.exec("PRAGMA cache_size = -4000");
    db.exec(`PRAGMA synchronous = ${options.durability === "full" ? "FULL" : "NORMAL"}`);
    checkpointAt(db, inMemory ? OWN_CHECKPOINT_PAGES : LAST_CHECKPOINT_PAGES);
    transaction(db, "IMMEDIATE", () => migrate(open, path));
  } catch (error) {
    db?.close();
    throw explain(error, path);
  }
  const open = db;
  const checkpoints = inMemory
    ? undefined
    : createCheckpoints(path, module, {
        finish: () => quietly(() => open.exec("PRAGMA wal_checkpoint(PASSIVE)"), undefined),
        alone: () => checkpointAt(open, OWN_CHECKPOINT_PAGES),
      });
  return keep(db, path, checkpoints);
}

function checkpointAt(db: SqliteDatabase, pages: number): void {
  db.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
}

function keep(db: SqliteDatabase, path: string, checkpoints: Checkpoints | undefined): SqliteFile {
  const statements = new Map<string, SqliteStatement>();
  let depth = 0;
  const run = <T>(kind: "IMMEDIATE" | "DEFERRED", work: () => T): T => {
    if (depth > 0) return work();
    depth++;
    try {
      return transaction(db, kind, work);
    } catch (error) {
      throw explain(error, path);
    } finally {
      depth--;
    }
  };
  return {
    statement(sql) {
      const known = statements.get(sql);
      if (known !== undefined) return known;
      const made = db.prepare(sql);
      statements.set(sql, made);
      return made;
    },
    // IMMEDIATE takes the lock at the start: a claim never reads a queue that another process is about to change.
    write(work) {
      const result = run("IMMEDIATE", work);
      checkpoints?.written();
      return result;
    },
    read: (work) => run("DEFERRED", work),
    async close() {
      statements.clear();
      // Whoever closes last makes one plain file of it.
      await checkpoints?.close();
      db.close();
    },
  };
}

function transaction<T>(db: SqliteDatabase, kind: "IMMEDIATE" | "DEFERRED", work: () => T): T {
  db.exec(`BEGIN ${kind}`);
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    try {
      db.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself (full disk, I/O error); the first error is the one to tell.
    }
    throw error;
  }
}

function migrate(db: SqliteDatabase, path: string): void {
  const version = pragma(db, "user_version");
  if (version > MIGRATIONS.length) {
    throw new AglError(
      "invalid_argument",
      `${path} has schema version ${version}, and this release knows ${MIGRATIONS.length}; update the package agentlightning`,
    );
  }
  for (const step of MIGRATIONS.slice(version)) db.exec(step);
  if (version === MIGRATIONS.length) return;
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
}

function pragma(db: SqliteDatabase, name: "application_id" | "user_version"): number {
  return (db.prepare(`PRAGMA ${name}`).get() as Record<string, number>)[name] as number;
}

function isEmpty(db: SqliteDatabase): boolean {
  return (db.prepare("SELECT count(*) AS n FROM sqlite_schema").get() as { n: number }).n === 0;
}

// What SQLite says, by the first words of its own messages: the two libraries give codes in different ways.
const EXPLANATIONS: readonly [RegExp, ConstructorParameters<typeof AglError>[0], string][] = [
  [/not a database/, "invalid_argument", "is not a SQLite database; choose another file"],
  [
    /malformed|corrupt/,
    "internal",
    "is damaged; restore it from a copy, or recover it with: sqlite3 FILE .recover",
  ],
  [/locked|busy/, "unavailable", "is locked by another process; try again"],
  [/disk is full|full/, "unavailable", "cannot grow because the disk is full; free some space"],
  [/readonly/, "invalid_argument", "cannot be written; check its permissions"],
  [/unable to open/, "invalid_argument", "cannot be opened; check the path and its permissions"],
  [/disk I\/O/, "unavailable", "could not be read or written (I/O error); check the disk"],
];

function explain(error: unknown, path: string): unknown {
  if (AglError.is(error) || !(error instanceof Error)) return error;
  const code = (error as { code?: unknown }).code;
  if (typeof code !== "string" || !/SQLITE/.test(code)) return error;
  const known = EXPLANATIONS.find(([pattern]) => pattern.test(error.message));
  if (known === undefined) return new AglError("internal", `${path}: ${error.message}`, { cause: error });
  return new AglError(known[1], `${path} ${known[2]}`, { cause: error });
}
