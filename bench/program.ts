/**
 * Measured programs as child processes: each has a heap and compiled code of its own, so that no measurement warms up
 * or slows down the next.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** Ends the process once what it was started for is done. */
export interface Running {
  /** The object that the program printed first. */
  readonly first: unknown;
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

/** Options of {@link run} and {@link start}. */
export interface ProgramOptions {
  args?: readonly string[];
  nodeArgs?: readonly string[];
  env?: Record<string, string>;
  /** What runs the file; this Node by default. */
  command?: string;
}

function launch(file: string, options: ProgramOptions) {
  const child = spawn(
    options.command ?? process.execPath,
    [...(options.nodeArgs ?? []), file, ...(options.args ?? [])],
    { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...options.env } },
  );
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4_000);
  });
  const ended = once(child, "exit");
  const first = (async () => {
    // A program's answer is the line that is a JSON object; libraries print banners of their own.
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.startsWith("{")) return JSON.parse(line) as unknown;
    }
    const [code, signal] = await ended;
    throw new Error(`${file} ended with ${code ?? signal} and no answer\n${errors}`);
  })();
  return { child, ended, first };
}

/** Runs `file` to its end and gives the object that it printed as one line of JSON. */
export async function run<T>(file: string, options: ProgramOptions = {}): Promise<T> {
  const { ended, first } = launch(file, options);
  const answer = await first;
  await ended;
  return answer as T;
}

/** Starts `file`, a server that prints one line of JSON when it listens, and ends when its standard input does. */
export async function start(file: string, options: ProgramOptions = {}): Promise<Running> {
  const { child, ended, first } = launch(file, options);
  return {
    first: await first,
    pid: child.pid,
    async stop() {
      child.stdin.end();
      const giveUp = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(giveUp);
    },
  };
}
