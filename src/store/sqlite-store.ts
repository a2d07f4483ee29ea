/**
 * A store in a SQLite file: what was acknowledged is there after `kill -9` and a restart.
 *
 * @module
 */
import { createEngine } from "./engine.ts";
import type { EngineOptions } from "./engine-core.ts";
import type { LocalStore } from "./interface.ts";
import { createSqliteBackend } from "./sqlite-backend.ts";
import type { SqliteLibrary } from "./sqlite-driver.ts";
import { openSqliteFile } from "./sqlite-file.ts";

/** Options of {@link openSqliteStore}. */
export interface SqliteStoreOptions extends EngineOptions {
  /** The database file; made when it is not there. Its folder must exist. */
  path: string;
  /**
   * Which SQLite to use: Node's own (Node 22.13 and newer) or the package `better-sqlite3`; `auto`, the default, takes
   * the first that there is.
   */
  library?: SqliteLibrary | "auto";
  /** Milliseconds to wait while another process writes; 5000 by default. */
  busyTimeoutMs?: number;
  /**
   * `normal` (the default): what was acknowledged outlives the process, however it dies. `full`: it outlives the loss
   * of power too, at the cost of a disk flush for each call.
   */
  durability?: "normal" | "full";
}

/**
 * Opens the store in the file at `path`. Several processes may open one file: each call is one transaction, so a
 * rollout is claimed once. Waits are woken by changes of the own process; those of others are seen whenever
 * {@link LocalStore.checkTimeouts} runs, as a watchdog makes it do.
 *
 * Rejects with `unsupported` when there is no SQLite, and with `invalid_argument` when the file is not such a store or
 * was written by a newer release.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<LocalStore> {
  const file = openSqliteFile({
    path: options.path,
    library: options.library ?? "auto",
    busyTimeoutMs: options.busyTimeoutMs ?? 5000,
    durability: options.durability ?? "normal",
  });
  return createEngine(createSqliteBackend(file), options);
}
