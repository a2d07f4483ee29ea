/**
 * When to send again. Pure.
 *
 * @module
 */

/** Shortest wait: also what `Retry-After: 0` means here, so that no answer makes a hot loop. */
export const MIN_DELAY_MS = 100;

/** Bounds of the waits between two tries. */
export interface RetryLimits {
  /** Upper bound of the first wait; it doubles with each failure. */
  firstDelayMs: number;
  /** Upper bound of a wait that we choose. */
  maxDelayMs: number;
  /** Upper bound of a wait that the server asks for. */
  maxRetryAfterMs: number;
}

/**
 * Milliseconds to wait after `failures` failures in a row (1 or more): full jitter, or what the server asked for.
 */
export function retryDelay(
  failures: number,
  retryAfterMs: number | undefined,
  random: () => number,
  limits: RetryLimits,
): number {
  if (retryAfterMs !== undefined) {
    return Math.max(MIN_DELAY_MS, Math.min(retryAfterMs, limits.maxRetryAfterMs));
  }
  const bound = Math.min(limits.maxDelayMs, limits.firstDelayMs * 2 ** Math.min(failures - 1, 30));
  return Math.max(MIN_DELAY_MS, Math.round(random() * bound));
}

/** What an HTTP status means for what was sent. */
export type StatusMeaning = "accepted" | "refused" | "busy" | "faulty" | "misconfigured";

/**
 * Sorts a status.
 *
 * - `refused`: something in this request is not wanted; smaller requests find out what.
 * - `busy`: the whole destination is away or asks to be left alone for now.
 * - `faulty`: the server failed at this request, and maybe only at this one.
 * - `misconfigured`: no request can succeed before somebody changes the address, the key or the server.
 */
export function statusMeaning(status: number): StatusMeaning {
  if (status >= 200 && status < 300) return "accepted";
  if (status === 400 || status === 413 || status === 422) return "refused";
  if (status === 408 || status === 425 || status === 429) return "busy";
  if (status === 502 || status === 503 || status === 504) return "busy";
  return status >= 500 ? "faulty" : "misconfigured";
}
