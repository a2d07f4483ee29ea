/**
 * The `Retry-After` header.
 *
 * @module
 */

/** Milliseconds that a `Retry-After` header asks for: seconds, or a date. Undefined where it says nothing usable. */
export function parseRetryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  const text = value.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  // Date.parse takes things like "-1" for a year.
  if (!/^[A-Za-z]{3,}/.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
