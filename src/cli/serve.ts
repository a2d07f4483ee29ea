/**
 * `agl serve`: a LightningStore on a port, kept in a file or in memory.
 *
 * @module
 */
import { resolve } from "node:path";
import { AglError } from "../errors.ts";
import { createLogger, LOG_LEVELS, type LogLevel } from "../server/log.ts";
import { serveStore } from "../server/serve.ts";
import type { LocalStore } from "../store/interface.ts";
import { openMemoryStore } from "../store/memory-store.ts";
import { openSqliteStore } from "../store/sqlite-store.ts";
import { type Command, type CommandLine, readOptions } from "./command.ts";

const DEFAULT_FILE = "agl.sqlite";

const OPTIONS = {
  port: { type: "string", default: "4747" },
  host: { type: "string", default: "127.0.0.1" },
  db: { type: "string" },
  memory: { type: "boolean" },
  key: { type: "string" },
  "cors-origin": { type: "string", multiple: true },
  "log-level": { type: "string", default: "info" },
} as const;

const HELP = `Usage: agl serve [options]

Serves a LightningStore: tasks, attempts, spans and resources over HTTP, and OTLP at /v1/traces.

Options
  --port <number>          Port to listen on; 0 takes a free one (default 4747)
  --host <address>         Address to listen on (default 127.0.0.1); any other than loopback needs a key
  --db <file>              SQLite file that keeps everything (default ${DEFAULT_FILE} in the working directory)
  --memory                 Keep everything in memory; it is gone when the server stops
  --key <key>              Key that clients must give; also from the variable AGL_KEY
  --cors-origin <origin>   Origin of web pages that may call; can be repeated; * for all
  --log-level <level>      ${LOG_LEVELS.join(", ")} (default info); logs are JSON lines on standard error
  --help                   Show this text

The first SIGINT or SIGTERM ends what is in flight and stops; the second stops at once.
`;

/** The command. */
export const serve: Command = {
  summary: "Serve a LightningStore",
  help: HELP,
  async run(args, line) {
    const options = readOptions(args, OPTIONS);
    const port = portOf(options.port);
    const level = levelOf(options["log-level"]);
    if (options.memory && options.db !== undefined) {
      throw new AglError("invalid_argument", "--db and --memory exclude each other. Give one of them.");
    }
    const key = options.key ?? (line.env["AGL_KEY"] || undefined);
    const file = options.memory ? undefined : resolve(options.db ?? DEFAULT_FILE);
    const store = await open(file);
    let server: Awaited<ReturnType<typeof serveStore>>;
    try {
      server = await serveStore({
        store,
        port,
        host: options.host,
        key,
        corsOrigins: options["cors-origin"],
        logger: createLogger({ level, write: (text) => line.stderr(text) }),
      });
    } catch (error) {
      await store.close();
      throw error;
    }
    const kept = file === undefined ? "kept in memory only" : `kept in ${file}`;
    const guarded = key === undefined ? "no key: this machine only" : "key required";
    line.stdout(`agl serve: LightningStore at ${server.url} (${kept}; ${guarded})\n`);
    await stopped(line, server.close);
  },
};

/** Resolves when the server was closed after a signal; a second signal does not wait for that. */
function stopped(line: CommandLine, close: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    let stopping = false;
    line.onStop((signal) => {
      if (stopping) return line.exit(signal === "SIGINT" ? 130 : 143);
      stopping = true;
      close().then(resolve, reject);
    });
  });
}

async function open(file: string | undefined): Promise<LocalStore> {
  if (file === undefined) return openMemoryStore();
  try {
    return await openSqliteStore({ path: file });
  } catch (cause) {
    if (AglError.is(cause)) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AglError(
      "unavailable",
      `Cannot open the store ${file}: ${reason}. Give another file with --db, or use --memory.`,
      { retryable: false, cause },
    );
  }
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new AglError(
    "invalid_argument",
    `--port cannot be ${JSON.stringify(text)}; it is a number from 0 to 65535.`,
  );
}

function levelOf(text: string): LogLevel {
  const level = LOG_LEVELS.find((each) => each === text.toLowerCase());
  if (level !== undefined) return level;
  throw new AglError(
    "invalid_argument",
    `--log-level cannot be ${JSON.stringify(text)}; it is one of ${LOG_LEVELS.join(", ")}.`,
  );
}
