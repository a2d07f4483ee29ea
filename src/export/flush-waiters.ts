/**
 * Counts of what became of spans, and those who wait for it.
 *
 * @module
 */
import type { SetTimer } from "./timer.ts";

/** A part of the queue whose spans settle in order. */
export interface Settling {
  readonly rolloutId: string;
  added: number;
  settled: number;
}

interface Counts {
  sent: number;
  failed: number;
}

interface Waiter {
  /** How far each lane has to settle. */
  marks: Map<Settling, number>;
  finish: () => void;
}

/** Counts of rollouts that nobody asked for, most; more are kept as one sum. */
const MAX_ROLLOUTS = 4_096;

/** Sent and failed spans since the last report, by rollout. */
export interface Ledger {
  /** Counts spans of one rollout. */
  count(rolloutId: string, what: keyof Counts, by: number): void;
  /** The counts of one rollout or of all, which start again from zero. */
  take(rolloutId: string | undefined): Counts;
}

class RolloutLedger implements Ledger {
  readonly #counts = new Map<string, Counts>();
  readonly #others: Counts = { sent: 0, failed: 0 };

  count(rolloutId: string, what: keyof Counts, by: number): void {
    let counts = this.#counts.get(rolloutId);
    if (counts === undefined) {
      counts = { sent: 0, failed: 0 };
      this.#counts.set(rolloutId, counts);
      if (this.#counts.size > MAX_ROLLOUTS) {
        const [oldest, old] = this.#counts.entries().next().value as [string, Counts];
        this.#counts.delete(oldest);
        this.#others.sent += old.sent;
        this.#others.failed += old.failed;
      }
    }
    counts[what] += by;
  }

  take(rolloutId: string | undefined): Counts {
    if (rolloutId !== undefined) {
      const counts = this.#counts.get(rolloutId) ?? { sent: 0, failed: 0 };
      this.#counts.delete(rolloutId);
      return counts;
    }
    const sum = { ...this.#others };
    for (const counts of this.#counts.values()) {
      sum.sent += counts.sent;
      sum.failed += counts.failed;
    }
    this.#counts.clear();
    this.#others.sent = 0;
    this.#others.failed = 0;
    return sum;
  }
}

/** An empty ledger. */
export function createLedger(): Ledger {
  return new RolloutLedger();
}

/** Those who wait for a flush to end. */
export interface FlushWaiters {
  /** Resolves when what `lanes` hold now has settled, at the deadline, or at {@link FlushWaiters.release}. */
  wait(lanes: Iterable<Settling>, timeoutMs: number): Promise<void>;
  /** To be called whenever `lane.settled` has grown. */
  settled(lane: Settling): void;
  /** Ends all waits: nothing can settle before somebody outside does something. */
  release(): void;
}

class Waiters implements FlushWaiters {
  readonly #waiters = new Set<Waiter>();
  readonly #setTimer: SetTimer;

  constructor(setTimer: SetTimer) {
    this.#setTimer = setTimer;
  }

  wait(lanes: Iterable<Settling>, timeoutMs: number): Promise<void> {
    const marks = new Map<Settling, number>();
    for (const lane of lanes) if (lane.settled < lane.added) marks.set(lane, lane.added);
    if (marks.size === 0 || timeoutMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const waiter: Waiter = {
        marks,
        finish: () => {
          cancel();
          this.#waiters.delete(waiter);
          resolve();
        },
      };
      // The one timer that holds the process: who awaits a flush must get its answer.
      const cancel = this.#setTimer(waiter.finish, timeoutMs, { ref: true });
      this.#waiters.add(waiter);
    });
  }

  settled(lane: Settling): void {
    for (const waiter of this.#waiters) {
      const mark = waiter.marks.get(lane);
      if (mark === undefined || lane.settled < mark) continue;
      waiter.marks.delete(lane);
      if (waiter.marks.size === 0) waiter.finish();
    }
  }

  release(): void {
    for (const waiter of this.#waiters) waiter.finish();
  }
}

/** Nobody waits yet. */
export function createFlushWaiters(setTimer: SetTimer): FlushWaiters {
  return new Waiters(setTimer);
}

/** Spans of `lanes` that have not settled. */
export function pendingIn(lanes: Iterable<Settling>): number {
  let pending = 0;
  for (const lane of lanes) pending += lane.added - lane.settled;
  return pending;
}
