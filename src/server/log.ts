/**
 * Structured logs: one JSON object a line.
 *
 * @module
 */

/** Levels, the least important first. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Takes a message and what belongs to it. Anything of console's shape that takes an object second will do. */
export type Logger = Record<LogLevel, (message: string, fields?: Record<string, unknown>) => void>;

/** Options of {@link createLogger}. */
export interface LoggerOptions {
  /** The least level that is written. @default "info" */
  level?: LogLevel;
  /** Takes each line, its end included. @default standard error */
  write?: (line: string) => void;
  /** Milliseconds since the epoch. @default Date.now */
  now?: () => number;
}

/** A logger that writes `{"time","level","message",...}`, one a line. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const write = options.write ?? ((line) => void process.stderr.write(line));
  const now = options.now ?? Date.now;
  const least = LOG_LEVELS.indexOf(options.level ?? "info");
  const at = (level: LogLevel): Logger[LogLevel] =>
    LOG_LEVELS.indexOf(level) < least
      ? () => {}
      : (message, fields) => {
          write(`${JSON.stringify({ time: new Date(now()).toISOString(), level, message, ...fields })}\n`);
        };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A logger that writes nothing. */
export const SILENT: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
