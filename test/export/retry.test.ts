import { expect, it } from "vitest";
import { retryDelay, statusMeaning } from "../../src/export/retry.ts";
import { parseRetryAfter } from "../../src/internal/retry-after.ts";

const limits = { firstDelayMs: 250, maxDelayMs: 30_000, maxRetryAfterMs: 120_000 };

it.each([
  [1, 1, 250],
  [2, 1, 500],
  [4, 1, 2_000],
  [4, 0.5, 1_000],
  [4, 0, 100],
  [8, 1, 30_000],
  [10_000, 1, 30_000],
])("waits after %i failures, at the random number %f, %i ms", (failures, random, expected) => {
  expect(retryDelay(failures, undefined, () => random, limits)).toBe(expected);
});

it.each([
  [0, 100],
  [1_000, 1_000],
  [3_600_000, 120_000],
])("waits %i ms that the server asks for: %i", (asked, expected) => {
  expect(retryDelay(5, asked, () => 1, limits)).toBe(expected);
});

it.each<[string | null, number | undefined]>([
  [null, undefined],
  ["", undefined],
  ["0", 0],
  [" 7 ", 7_000],
  ["1.5", 1_500],
  ["-1", undefined],
  ["soon", undefined],
  ["Thu, 01 Jan 2026 00:00:10 GMT", 10_000],
  ["Wed, 31 Dec 2025 00:00:00 GMT", 0],
])("reads Retry-After %j", (value, expected) => {
  expect(parseRetryAfter(value, Date.UTC(2026, 0, 1))).toBe(expected);
});

it.each([
  ["accepted", [200, 202, 204]],
  ["refused", [400, 413, 422]],
  ["busy", [408, 425, 429, 502, 503, 504]],
  ["faulty", [500, 501, 507, 599]],
  ["misconfigured", [0, 301, 302, 307, 401, 403, 404, 405, 410, 415]],
])("sorts statuses: %s", (meaning, statuses) => {
  expect(statuses.map(statusMeaning)).toEqual(statuses.map(() => meaning));
});
