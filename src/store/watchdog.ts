/**
 * Looks for overdue attempts on a timer, so that they end also when nobody calls the store.
 *
 * @module
 */
import type { LocalStore } from "./interface.ts";

/** Options of {@link createWatchdog}. */
export interface WatchdogOptions {
  /** Seconds between two looks; 5 by default. */
  intervalSeconds?: number;
  /** Told when a look failed; the next one is made all the same. Nothing is told by default. */
  onError?: (error: unknown) => void;
}

/** A running watchdog. */
export interface Watchdog {
  /** Stops, and resolves when the look that may be under way has ended. */
  close(): Promise<void>;
}

/** Starts to look every few seconds. The timer does not keep the process alive. */
export function createWatchdog(
  store: Pick<LocalStore, "checkTimeouts">,
  options: WatchdogOptions = {},
): Watchdog {
  let current: Promise<void> | null = null;
  const look = async (): Promise<void> => {
    try {
      await store.checkTimeouts();
    } catch (error) {
      options.onError?.(error);
    }
  };
  const timer = setInterval(
    () => {
      current ??= look().finally(() => {
        current = null;
      });
    },
    (options.intervalSeconds ?? 5) * 1000,
  );
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await current;
    },
  };
}
