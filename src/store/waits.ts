/**
 * Callers that wait for rollouts to finish, woken by the change itself.
 *
 * @module
 */
import { AglError } from "../errors.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** One call that waits. */
interface Waiter {
  pending: Set<string>;
  /** Ends the wait, or sets `pending` anew when a rollout was reopened meanwhile. */
  check: () => void;
  fail: (error: AglError) => void;
}

/** The waiting calls of a store. */
export interface Waits {
  /**
   * Resolves as soon as `unfinished` gives an empty list, when `timeoutSeconds` (null: never) have passed, and rejects
   * with `aborted` when the signal fires.
   */
  until(
    unfinished: () => string[],
    options: { timeoutSeconds: number | null; signal: AbortSignal | undefined },
  ): Promise<void>;
  /** Tells that a rollout finished. */
  finished(rolloutId: string): void;
  /** Looks again at everything that is waited for: another process may have finished it. */
  recheck(): void;
  /** Rejects all with `closed`. */
  close(): void;
}

/** The waiting calls of one store. */
export function createWaits(): Waits {
  const waiters = new Map<string, Set<Waiter>>();

  const add = (waiter: Waiter): void => {
    for (const id of waiter.pending) {
      const found = waiters.get(id);
      if (found === undefined) waiters.set(id, new Set([waiter]));
      else found.add(waiter);
    }
  };
  const remove = (waiter: Waiter, ids: Iterable<string>): void => {
    for (const id of ids) {
      const found = waiters.get(id);
      if (found?.delete(waiter) && found.size === 0) waiters.delete(id);
    }
  };
  const all = (): Set<Waiter> => new Set([...waiters.values()].flatMap((set) => [...set]));

  return {
    until(unfinished, { timeoutSeconds, signal }) {
      return new Promise<void>((resolve, reject) => {
        if (signal?.aborted) return reject(aborted(signal));
        const first = unfinished();
        if (first.length === 0 || (timeoutSeconds !== null && timeoutSeconds <= 0)) return resolve();
        let timer: NodeJS.Timeout | undefined;
        const settle = (end: () => void): void => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", onAbort);
          remove(waiter, waiter.pending);
          end();
        };
        const onAbort = (): void => settle(() => reject(aborted(signal as AbortSignal)));
        const waiter: Waiter = {
          pending: new Set(first),
          check() {
            remove(waiter, waiter.pending);
            try {
              waiter.pending = new Set(unfinished());
            } catch (error) {
              return settle(() => reject(error));
            }
            if (waiter.pending.size === 0) settle(resolve);
            else add(waiter);
          },
          fail: (error) => settle(() => reject(error)),
        };
        const deadline = timeoutSeconds === null ? null : performance.now() + timeoutSeconds * 1000;
        const arm = (): void => {
          if (deadline === null) return;
          const rest = Math.ceil(deadline - performance.now());
          if (rest > 0) timer = setTimeout(arm, Math.min(rest, LONGEST_TIMER_MS));
          else settle(resolve);
        };
        add(waiter);
        signal?.addEventListener("abort", onAbort);
        arm();
      });
    },
    finished(rolloutId) {
      for (const waiter of [...(waiters.get(rolloutId) ?? [])]) {
        remove(waiter, [rolloutId]);
        waiter.pending.delete(rolloutId);
        if (waiter.pending.size === 0) waiter.check();
      }
    },
    recheck() {
      for (const waiter of all()) waiter.check();
    },
    close() {
      const error = new AglError("closed", "The store was closed while this call waited");
      for (const waiter of all()) waiter.fail(error);
    },
  };
}

function aborted(signal: AbortSignal): AglError {
  return new AglError("aborted", "The wait was ended by its signal", { cause: signal.reason });
}
