/**
 * Moves what SQLite has logged into the file itself, on a thread of its own: that waits for the disk, and the thread
 * that answers requests must not.
 *
 * @module
 */
import { Worker } from "node:worker_threads";

/** Milliseconds from a write to the checkpoint that follows: pages that change often are then written once. */
const DELAY_MS = 500;
/** The same while much is written: what this thread has left when the log is too long is the writer's to do. */
const BUSY_DELAY_MS = 50;
/** Pages in the log from which on much is being written. */
const BUSY_PAGES = 2_000;

// PASSIVE waits for nobody and nobody waits for it. What fails is left to the next checkpoint, or to the writer's own.
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const library = require(workerData.module);
const db = new (library.DatabaseSync ?? library)(workerData.path);
parentPort.on("message", (order) => {
  let pages = 0;
  try {
    if (order === "checkpoint") pages = db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get().log;
  } catch {}
  if (order === "close") {
    db.close();
    parentPort.close();
  } else parentPort.postMessage(pages);
});
`;

/** Checkpoints of one file. */
export interface Checkpoints {
  /** Something was written. */
  written(): void;
  /** Lets go of the file. */
  close(): Promise<void>;
}

/**
 * Checkpoints of the file at `path`. The thread starts with the first of them, and keeps no process alive.
 *
 * @param module - what to load SQLite from, in another thread
 * @param onGone - told when there is no thread and will not be one
 */
export function createCheckpoints(path: string, module: string, onGone: () => void): Checkpoints {
  let worker: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let busy = false;
  let delay = DELAY_MS;

  const gone = () => {
    worker = undefined;
    if (closed) return;
    closed = true;
    clearTimeout(timer);
    onGone();
  };
  const begin = (): Worker => {
    const made = new Worker(PROGRAM, { eval: true, workerData: { path, module }, execArgv: [] });
    made.on("message", (pages: number) => {
      busy = false;
      delay = pages > BUSY_PAGES ? BUSY_DELAY_MS : DELAY_MS;
    });
    made.on("error", gone);
    made.on("exit", gone);
    made.unref();
    return made;
  };
  const run = () => {
    timer = undefined;
    try {
      worker ??= begin();
      busy = true;
      worker.postMessage("checkpoint");
    } catch {
      gone();
    }
  };

  return {
    written() {
      if (closed || busy || timer !== undefined) return;
      timer = setTimeout(run, delay);
      timer.unref();
    },
    async close() {
      clearTimeout(timer);
      if (closed) return;
      closed = true;
      if (worker === undefined) return;
      const ended = new Promise((resolve) => worker?.once("exit", resolve));
      worker.ref();
      worker.postMessage("close");
      await ended;
    },
  };
}
