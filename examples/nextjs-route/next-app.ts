/**
 * The app as users run it: built, then served by Next in a process of its own.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const FOLDER = import.meta.dirname;
const next = createRequire(import.meta.url).resolve("next/dist/bin/next");

function run(args: readonly string[], env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [next, ...args], {
    cwd: FOLDER,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** What the process has printed so far, in one text. */
function logOf(child: ChildProcess): () => string {
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (log += chunk));
  return () => log;
}

/** `next build`. */
export async function build(): Promise<void> {
  const child = run(["build"], {});
  const log = logOf(child);
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`next build ended with ${code}:\n${log()}`);
}

/** The app, served. */
export interface ServedApp {
  url: string;
  /** What it has printed so far. */
  log(): string;
  stop(): Promise<void>;
}

/** `next start` on a free port. */
export async function start(env: Record<string, string>): Promise<ServedApp> {
  const child = run(["start", "--hostname", "127.0.0.1", "--port", "0"], env);
  const log = logOf(child);
  const exited = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
    if (url === undefined) continue;
    return {
      url,
      log,
      async stop() {
        child.kill("SIGTERM");
        await exited;
      },
    };
  }
  throw new Error(`next start has ended:\n${log()}`);
}
