/**
 * Rules of span sequence ids: one counter a rollout, shared by its attempts.
 *
 * @module
 */

/**
 * The id that a span gets when the last one issued or seen is `last`. A positive whole number is kept as it came; all
 * else (missing, 0, negative) gets the next, so that reading by sequence is reading by arrival.
 */
export function sequenceFor(given: unknown, last: number): number {
  return Number.isSafeInteger(given) && (given as number) > 0 ? (given as number) : last + 1;
}

/** The counter after `sequenceId` was stored or issued: it never goes back. */
export function afterSequence(last: number, sequenceId: number): number {
  return Math.max(last, sequenceId);
}
