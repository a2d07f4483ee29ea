/**
 * Signals that follow others for the time of one piece of work.
 *
 * @module
 */

/** Waits; rejects with the signal's reason when it fires first. */
export function timerSleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", fail);
      resolve();
    }, ms);
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}

/** Runs `work` with a signal that follows both, and lets go of both afterwards: callers' signals may live for long. */
export async function withLinkedSignal<T>(
  signals: readonly (AbortSignal | undefined)[],
  work: (controller: AbortController) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const unlink: (() => void)[] = [];
  for (const signal of signals) {
    if (signal === undefined) continue;
    const forward = () => controller.abort(signal.reason);
    if (signal.aborted) forward();
    signal.addEventListener("abort", forward, { once: true });
    unlink.push(() => signal.removeEventListener("abort", forward));
  }
  try {
    return await work(controller);
  } finally {
    for (const undo of unlink) undo();
  }
}
