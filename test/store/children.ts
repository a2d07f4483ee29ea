/**
 * Starts a script of this folder as a process of its own and reads the lines that it prints.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A process and what it printed so far, each line parsed as JSON. */
export interface Child<T> {
  process: ChildProcess;
  lines: T[];
  /** Resolves when the process has ended and all that it printed was read. */
  ended: Promise<void>;
}

/** Runs `script` with `args`; `onLine` sees each line as it comes. */
export function startChild<T>(
  script: string,
  args: string[],
  onLine: (child: Child<T>) => void = () => {},
): Child<T> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const process_ = spawn(process.execPath, ["--import", "tsx", path, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const reader = createInterface({ input: process_.stdout as NonNullable<typeof process_.stdout> });
  const child: Child<T> = {
    process: process_,
    lines: [],
    ended: Promise.all([
      new Promise((resolve) => process_.once("close", resolve)),
      new Promise((resolve) => reader.once("close", resolve)),
    ]).then(() => {}),
  };
  reader.on("line", (line) => {
    child.lines.push(JSON.parse(line) as T);
    onLine(child);
  });
  return child;
}
