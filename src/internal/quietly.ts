/**
 * Recording beside a call of the user's, which it must not fail.
 *
 * @module
 */

/** What `fn` gives; when it throws, `otherwise`, and what it threw is lost. */
export function quietly<R>(fn: () => R, otherwise: R): R {
  try {
    return fn();
  } catch {
    return otherwise;
  }
}
