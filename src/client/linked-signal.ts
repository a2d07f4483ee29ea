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

interface Following {
  controllers: Set<AbortController>;
  listener: () => void;
}

/** One listener for each signal however many calls follow it: runtimes warn about the eleventh as a leak. */
const followed = new WeakMap<AbortSignal, Following>();

function follow(signal: AbortSignal, controller: AbortController): void {
  if (signal.aborted) {
    controller.abort(signal.reason);
    return;
  }
  let following = followed.get(signal);
  if (following === undefined) {
    const controllers = new Set<AbortController>();
    const listener = () => {
      for (const each of controllers) each.abort(signal.reason);
    };
    following = { controllers, listener };
    followed.set(signal, following);
    signal.addEventListener("abort", listener, { once: true });
  }
  following.controllers.add(controller);
}

function unfollow(signal: AbortSignal, controller: AbortController): void {
  const following = followed.get(signal);
  if (following === undefined) return;
  following.controllers.delete(controller);
  if (following.controllers.size > 0) return;
  followed.delete(signal);
  signal.removeEventListener("abort", following.listener);
}

/** Runs `work` with a signal that follows the others, and lets go of them afterwards: callers' signals may live for long. */
export async function withLinkedSignal<T>(
  signals: readonly (AbortSignal | undefined)[],
  work: (controller: AbortController) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const present = signals.filter((signal) => signal !== undefined);
  for (const signal of present) follow(signal, controller);
  try {
    return await work(controller);
  } finally {
    for (const signal of present) unfollow(signal, controller);
  }
}
