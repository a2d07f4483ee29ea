import { expect, it } from "vitest";
import { encodeSpans, joinRequests, storable } from "../../src/export/encode.ts";
import { Agl } from "../../src/protocol/semconv.ts";
import { setLate } from "../../src/trace/finished-span.ts";
import { finished } from "./finished.ts";
import { decodeRequest } from "./flaky-store.ts";

const cycle: unknown[] = [];
cycle.push(cycle);

it.each<[string, unknown, unknown]>([
  ["strings", "a", "a"],
  ["booleans", false, false],
  ["numbers", 1.5, 1.5],
  ["arrays of one type", [1, 2.5], [1, 2.5]],
  ["empty arrays", [], []],
  ["null: nothing", null, undefined],
  ["undefined: nothing", undefined, undefined],
  ["functions: nothing", () => 1, undefined],
  ["NaN, which JSON does not know", Number.NaN, "NaN"],
  ["infinities", Number.NEGATIVE_INFINITY, "-Infinity"],
  ["big integers", 12345678901234567890n, "12345678901234567890"],
  ["objects, as JSON", { a: { b: [1n] } }, '{"a":{"b":["1"]}}'],
  ["mixed arrays, as JSON", [1, "a"], '[1,"a"]'],
  ["arrays with holes, as JSON", [1, null], "[1,null]"],
  ["arrays with NaN, as JSON", [1, Number.NaN], "[1,null]"],
  ["nested arrays, as JSON", [[1]], "[[1]]"],
  ["typed arrays", new Int32Array([1, 2]), [1, 2]],
  ["dates", new Date(0), '"1970-01-01T00:00:00.000Z"'],
])("stores %s", (_, value, expected) => {
  expect(storable(value)).toEqual(expected);
});

it("stores what has no JSON as text", () => {
  expect(typeof storable({ cycle })).toBe("string");
});

it("encodes attributes of spans, events, links and resources that the store takes", () => {
  const span = {
    ...finished("a", "ro-1", { bad: { x: 1 } }),
    events: [{ name: "e", time: [1, 0] as [number, number], attributes: { bad: [1, "a"] as never } }],
    links: [{ context: finished("l").spanContext(), attributes: { bad: { y: 2 } as never } }],
  };
  setLate(span, { bytes: 1, make: () => ({ late: Number.NaN }) });
  const [decoded] = decodeRequest(encodeSpans([span]));
  expect(decoded?.attributes).toEqual({
    [Agl.RolloutId]: "ro-1",
    [Agl.AttemptId]: "at-ro-1",
    bad: '{"x":1}',
    late: "NaN",
  });
  expect(decoded?.events[0]?.attributes).toEqual({ bad: '[1,"a"]' });
  expect(decoded?.links[0]?.attributes).toEqual({ bad: '{"y":2}' });
});

it("writes valid UTF-8 for half a surrogate pair, which other languages refuse to read", () => {
  const bytes = encodeSpans([finished("a", "ro-1", { text: "half \ud83d pair" })]);
  expect(Buffer.from(bytes).includes(Buffer.from("half \ufffd pair"))).toBe(true);
});

it("joins requests into one that holds the spans of all, in order", () => {
  const parts = [["a", "b"], ["c"]].map((group) => encodeSpans(group.map((name) => finished(name))));
  expect(decodeRequest(joinRequests(parts)).map(({ name }) => name)).toEqual(["a", "b", "c"]);
  expect(joinRequests(parts.slice(0, 1))).toBe(parts[0]);
});

it("never writes to a request that it has given away", () => {
  const before = Array.from({ length: 300 }, (_, i) =>
    encodeSpans([finished(`s${i}`, "ro-1", { i, text: "x".repeat(2_000) })]),
  );
  const copies = before.map((request) => Buffer.from(request));
  // Some as large as several buffers, among small ones.
  for (const size of [600_000, 10, 300_000]) {
    const [large] = decodeRequest(encodeSpans([finished("large", "ro-1", { text: "y".repeat(size) })]));
    expect(String(large?.attributes["text"])).toHaveLength(size);
  }
  expect(before.every((request, i) => Buffer.compare(request, copies[i] as Buffer) === 0)).toBe(true);
});

it("goes on when the memory of a request was transferred", () => {
  const request = encodeSpans([finished("a")]);
  structuredClone(request, { transfer: [request.buffer as ArrayBuffer] });
  expect(request).toHaveLength(0);
  expect(decodeRequest(encodeSpans([finished("b"), finished("c")])).map(({ name }) => name)).toEqual([
    "b",
    "c",
  ]);
});
