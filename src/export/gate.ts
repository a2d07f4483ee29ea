/**
 * The state of a destination: open, or away until some time. While it is away one request at a time finds out whether
 * it is back.
 *
 * @module
 */
import { MIN_DELAY_MS, type RetryLimits, retryDelay } from "./retry.ts";

/** A destination that can be away. */
export interface Gate {
  /** True from the first failure to the next success. */
  readonly away: boolean;
  /** Earliest time of the next try. */
  readonly notBefore: number;
  /** Notes a failure; the delay is the server's or grows with each. */
  fail(now: number, retryAfterMs?: number): void;
  /** Notes that the destination answers. */
  open(): void;
  /** Somebody waits: tries again at once, unless the server has named a time. */
  hurry(now: number): void;
}

/** A gate that is open. */
export function createGate(limits: RetryLimits, random: () => number): Gate {
  let failures = 0;
  let failedAt = 0;
  let notBefore = 0;
  let named = false;
  return {
    get away() {
      return failures > 0;
    },
    get notBefore() {
      return notBefore;
    },
    fail(now, retryAfterMs) {
      // The others that were under way when the first one failed say nothing new.
      if (failures > 0 && now < notBefore && retryAfterMs === undefined) return;
      failures += 1;
      failedAt = now;
      named = retryAfterMs !== undefined;
      notBefore = now + retryDelay(failures, retryAfterMs, random, limits);
    },
    open() {
      failures = 0;
      notBefore = 0;
    },
    hurry(now) {
      if (failures > 0 && !named) notBefore = Math.min(notBefore, Math.max(now, failedAt + MIN_DELAY_MS));
    },
  };
}
