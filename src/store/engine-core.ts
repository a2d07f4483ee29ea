/**
 * What all parts of the engine share: the backend, the clock, transactions, and the changes that are told afterwards.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import { randomHex } from "../internal/ids.ts";
import type { RolloutStatus } from "../protocol/rollout.ts";
import type { StoreBackend } from "./backend.ts";
import { createFeed, type Feed } from "./feed.ts";
import type { StoreEvent } from "./interface.ts";
import {
  type AttemptRow,
  type RolloutHead,
  type RolloutRow,
  toAttemptedRollout,
  type WorkerRow,
} from "./rows.ts";
import { moveRollout } from "./rules/rollouts.ts";
import { FINISHED } from "./rules/statuses.ts";
import { afterAttempt, newWorker } from "./rules/workers.ts";
import { createWaits, type Waits } from "./waits.ts";

/** Ids of new rows. The engine makes sure of nothing: an id must be new. */
export interface StoreIds {
  /** `ro-` and 12 hex digits. */
  rollout(): string;
  /** `at-` and 8 hex digits. */
  attempt(): string;
  /** `rs-` and 12 hex digits. */
  resources(): string;
}

/** Options that every store takes. */
export interface EngineOptions {
  /** The time in seconds since the epoch; the system's clock by default. */
  now?: () => number;
  /** Makers of ids; random by default. */
  ids?: Partial<StoreIds>;
  /**
   * Seconds in which time-outs are looked for at most once as part of other calls; 10 by default, 0 looks each time.
   * {@link LocalStore.checkTimeouts} always looks.
   */
  scanDebounceSeconds?: number;
}

/** What changed in a transaction. */
export interface Changes {
  readonly rollouts: Map<string, RolloutStatus>;
  readonly attempts: Map<string, AttemptRow>;
  readonly workers: Map<string, WorkerRow>;
  readonly events: StoreEvent[];
}

/** What the parts of the engine are given. */
export interface Core {
  readonly backend: StoreBackend;
  readonly ids: StoreIds;
  readonly feed: Feed;
  readonly waits: Waits;
  now(): number;
  /** Throws `closed` after close. */
  assertOpen(): void;
  /** Runs `work` in one transaction, then tells what it changed. */
  write<T>(work: (tx: Transaction) => T): T;
  read<T>(work: () => T): T;
}

/** One transaction that writes: steps that several operations are made of. All times in it are the same `now`. */
export interface Transaction {
  readonly now: number;
  readonly backend: StoreBackend;
  readonly changes: Changes;
  insertRollout(row: RolloutRow): void;
  updateRollout(rollout: RolloutHead, changes: Partial<RolloutRow>): void;
  /** Moves a rollout's status by the rules, with `also` in the same write; gives back what changed of the row. */
  moveRollout(rollout: RolloutHead, status: RolloutStatus, also?: Partial<RolloutRow>): Partial<RolloutRow>;
  insertAttempt(row: AttemptRow): void;
  /** Gives back the attempt as it is after the change. */
  updateAttempt(attempt: AttemptRow, changes: Partial<AttemptRow>): AttemptRow;
  putWorker(row: WorkerRow): void;
  /** Brings the worker of an attempt in line with the attempt; none: nothing. */
  syncWorker(attempt: AttemptRow): void;
  tail(): number;
}

const DEFAULT_IDS: StoreIds = {
  rollout: () => `ro-${randomHex(6)}`,
  attempt: () => `at-${randomHex(4)}`,
  resources: () => `rs-${randomHex(6)}`,
};

/** The shared part of an engine over `backend`. */
export function createCore(backend: StoreBackend, options: EngineOptions): Core & { close(): Promise<void> } {
  const now = options.now ?? (() => Date.now() / 1000);
  const feed = createFeed();
  const waits = createWaits();
  let open = true;
  let closing: Promise<void> | undefined;

  const assertOpen = (): void => {
    if (!open) throw new AglError("closed", `The store (${backend.name}) is closed; open it again to use it`);
  };

  const tell = (changes: Changes): void => {
    for (const [rolloutId, status] of changes.rollouts) if (FINISHED[status]) waits.finished(rolloutId);
    if (!feed.active) return;
    for (const rolloutId of changes.rollouts.keys()) {
      const row = backend.rollout(rolloutId);
      if (row === null) continue;
      const attempt =
        row.latest_attempt_id === null ? null : backend.attempt(rolloutId, row.latest_attempt_id);
      feed.publish({ type: "rollout", rollout: backend.isolate(toAttemptedRollout(row, attempt)) });
    }
    for (const attempt of changes.attempts.values()) {
      feed.publish({ type: "attempt", attempt: backend.isolate(attempt) });
    }
    for (const worker of changes.workers.values()) {
      feed.publish({ type: "worker", worker: backend.isolate(worker) });
    }
    for (const event of changes.events) feed.publish(event);
  };

  return {
    backend,
    ids: { ...DEFAULT_IDS, ...options.ids },
    feed,
    waits,
    now,
    assertOpen,
    read(work) {
      assertOpen();
      return backend.read(work);
    },
    write(work) {
      assertOpen();
      const changes: Changes = { rollouts: new Map(), attempts: new Map(), workers: new Map(), events: [] };
      const result = backend.write(() => work(createTransaction(backend, now(), changes)));
      tell(changes);
      return result;
    },
    close() {
      closing ??= (async () => {
        open = false;
        waits.close();
        feed.close();
        await backend.close();
      })();
      return closing;
    },
  };
}

function createTransaction(backend: StoreBackend, now: number, changes: Changes): Transaction {
  let tail: number | null = null;
  const tx: Transaction = {
    now,
    backend,
    changes,
    tail() {
      // Asked of the backend once: rows that will take the places before this one may not be written yet.
      tail = tail === null ? backend.queueTail() : tail + 1;
      return tail;
    },
    insertRollout(row) {
      backend.insertRollout(row);
      changes.rollouts.set(row.rollout_id, row.status);
    },
    updateRollout(rollout, values) {
      if (Object.keys(values).length === 0) return;
      backend.updateRollout(rollout.rollout_id, values);
      changes.rollouts.set(rollout.rollout_id, values.status ?? rollout.status);
    },
    moveRollout(rollout, status, also = {}) {
      const move = { ...moveRollout(rollout, status, { now, tail: tx.tail }), ...also };
      tx.updateRollout(rollout, move);
      return move;
    },
    insertAttempt(row) {
      backend.insertAttempt(row);
      changes.attempts.set(row.attempt_id, row);
    },
    updateAttempt(attempt, values) {
      const after = { ...attempt, ...values };
      if (Object.keys(values).length > 0) {
        backend.updateAttempt(attempt.rollout_id, attempt.attempt_id, values);
        changes.attempts.set(attempt.attempt_id, after);
      }
      return after;
    },
    putWorker(row) {
      backend.putWorker(row);
      changes.workers.set(row.worker_id, row);
    },
    syncWorker(attempt) {
      if (!attempt.worker_id) return;
      const worker = backend.worker(attempt.worker_id) ?? newWorker(attempt.worker_id);
      tx.putWorker(afterAttempt(worker, attempt, backend.liveAttempt(attempt.worker_id), now));
    },
  };
  return tx;
}
