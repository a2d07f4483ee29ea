/**
 * The LightningStore server.
 *
 * @module
 */
export { DEFAULT_LIMITS, type ServerLimits } from "./admission.ts";
export { type AppOptions, createApp } from "./app.ts";
export { createLogger, LOG_LEVELS, type Logger, type LoggerOptions, type LogLevel } from "./log.ts";
export type { ServerEnv } from "./request-body.ts";
export { type ServeOptions, type StoreServer, serveStore } from "./serve.ts";
