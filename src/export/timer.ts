/**
 * Timers that can be replaced by a test's own.
 *
 * @module
 */

/** What a timer does to the life of the process. */
export interface TimerOptions {
  /** True when the process must stay alive until the timer has fired; false by default. */
  ref?: boolean;
}

/** Calls `fn` after `ms` milliseconds, unless the function that is given back is called before. */
export type SetTimer = (fn: () => void, ms: number, options?: TimerOptions) => () => void;

/** The runtime's own timers. */
export const systemTimer: SetTimer = (fn, ms, options) => {
  const handle = setTimeout(fn, ms);
  // Browsers give a number back.
  if (options?.ref !== true && typeof handle === "object") handle.unref?.();
  return () => clearTimeout(handle);
};
