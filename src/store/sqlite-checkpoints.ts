/**
 * Moves what SQLite has logged into the file itself, on a thread of its own: that waits for the disk, and the thread
 * that answers requests must not.
 *
 * @module
 */
import { Worker } from "node:worker_threads";

/** Milliseconds from a write to the checkpoint that follows: pages that change often are then written once. */
const DELAY_MS = 500;
/** The same while much is written. */
const BUSY_DELAY_MS = 50;
/** Pages in the log from which on much is being written. */
const BUSY_PAGES = 2_000;
/**
 * Pages in the log from which on it is to begin anew. That needs a moment in which all of it is in the file, which
 * never comes by itself while one transaction follows the other: the writer, between two of them, does the little that
 * this thread has left.
 */
const LONG_PAGES = 32_000;
/** Pages that are little enough to be left to the writer. */
const FEW_PAGES = 500;
/** Checkpoints in a row, each of what was written during the last one. */
const MOST_IN_A_ROW = 5;

// PASSIVE waits for nobody and nobody waits for it. What fails is left to the next checkpoint, or to the writer's own.
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const library = require(workerData.module);
const db = new (library.DatabaseSync ?? library)(workerData.path);
const { LONG_PAGES, FEW_PAGES, MOST_IN_A_ROW } = workerData;
parentPort.on("message", (order) => {
  if (order === "close") {
    db.close();
    parentPort.close();
    return;
  }
  let pages = 0;
  try {
    for (let i = 0; i < MOST_IN_A_ROW; i++) {
      const { log } = db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
      const more = log - pages;
      pages = log;
      if (log < LONG_PAGES || more < FEW_PAGES) break;
    }
  } catch {}
  parentPort.postMessage(pages);
});
`;

/** Checkpoints of one file. */
export interface Checkpoints {
  /** Something was written. */
  written(): void;
  /** Lets go of the file. */
  close(): Promise<void>;
}

/** The connection that writes to the file. */
export interface CheckpointWriter {
  /** Makes a checkpoint of the little that is left; not called during a transaction. */
  finish(): void;
  /** There is no thread and will not be one. */
  alone(): void;
}

/**
 * Checkpoints of the file at `path`. The thread starts with the first of them, and keeps no process alive.
 *
 * @param module - what to load SQLite from, in another thread
 */
export function createCheckpoints(path: string, module: string, writer: CheckpointWriter): Checkpoints {
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
    writer.alone();
  };
  const begin = (): Worker => {
    const workerData = { path, module, LONG_PAGES, FEW_PAGES, MOST_IN_A_ROW };
    const made = new Worker(PROGRAM, { eval: true, workerData, execArgv: [] });
    made.on("message", (pages: number) => {
      busy = false;
      delay = pages > BUSY_PAGES ? BUSY_DELAY_MS : DELAY_MS;
      if (pages >= LONG_PAGES && !closed) writer.finish();
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
