/**
 * The store engine: tasks, attempts, spans, resources and workers in memory or in a SQLite file.
 *
 * @module
 */
export type * from "../protocol/json.ts";
export type * from "../protocol/resources.ts";
export type * from "../protocol/rollout.ts";
export type * from "../protocol/span.ts";
export type { EngineOptions, StoreIds } from "./engine-core.ts";
export type * from "./interface.ts";
export { type MemoryStoreOptions, openMemoryStore } from "./memory-store.ts";
export { LATE_RESULT } from "./rules/attempts.ts";
export type { SqliteLibrary } from "./sqlite-driver.ts";
export { openSqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";
export { createWatchdog, type Watchdog, type WatchdogOptions } from "./watchdog.ts";
