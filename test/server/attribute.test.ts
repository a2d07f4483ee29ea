import { describe, expect, test } from "vitest";
import { type RawValue, setAttribute, storableAttributes } from "../../src/protocol/otlp/attribute.ts";
import { secondsOf } from "../../src/protocol/otlp/otlp-span.ts";
import type { SpanAttributes } from "../../src/protocol/span.ts";

function stored(value: RawValue): unknown {
  const attributes: SpanAttributes = {};
  setAttribute(attributes, "key", value);
  return attributes["key"];
}

describe("an attribute", () => {
  test.each<[RawValue, unknown]>([
    ["text", "text"],
    [true, true],
    [-0.5, -0.5],
    [[], []],
    [
      [1, 2.5],
      [1, 2.5],
    ],
    [["a"], ["a"]],
    [[false], [false]],
    [Number.NaN, "NaN"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
    [
      [-0.5, Number.NEGATIVE_INFINITY],
      ["-0.5", "-Infinity"],
    ],
    [
      [1, "9007199254740993"],
      ["1", "9007199254740993"],
    ],
    [[1, "a"], '[1,"a"]'],
    [[1, true], "[1,true]"],
    [[null], "[null]"],
    [[1, null], "[1,null]"],
    [[[1], [2]], "[[1],[2]]"],
    [{ a: { b: [1, null] } }, '{"a":{"b":[1,null]}}'],
    [{ a: Number.NaN }, '{"a":"NaN"}'],
    [null, undefined],
  ])("%j is stored as %j", (value, expected) => {
    expect(stored(value)).toEqual(expected);
  });

  test("long lists are kept as they are, not copied", () => {
    const tokens = Array.from({ length: 100_000 }, (_, i) => i);
    expect(stored(tokens)).toBe(tokens);
  });
});

test("attributes that can be stored are handed on, others are made anew and the given ones left alone", () => {
  const good = { a: 1, b: ["x"] };
  expect(storableAttributes(good)).toBe(good);
  const bad = { a: 1, b: null, c: { d: 1 } };
  expect(storableAttributes(bad)).toEqual({ a: 1, c: '{"d":1}' });
  expect(bad).toEqual({ a: 1, b: null, c: { d: 1 } });
});

test("times are the floats nearest to the nanoseconds", () => {
  const of = (nanos: bigint) => secondsOf(Number(nanos >> 32n), Number(nanos & 0xffff_ffffn));
  expect(of(0n)).toBeNull();
  expect(of(5n)).toBe(5);
  expect(of(1_000_000_000_000n)).toBe(1_000_000_000_000);
  expect(of(1_000_000_000_001n)).toBe(1000.000000001);
  expect(of(1_796_045_477_999_999_999n)).toBe(Number("1796045477.999999999"));
  expect(of(2n ** 64n - 1n)).toBe(Number("18446744073.709551615"));
  for (let seconds = 1_700_000_000n; seconds < 1_700_000_200n; seconds++) {
    for (const rest of [0n, 1n, 999_999_999n, 123_456_789n]) {
      const expected = Number(`${seconds}.${String(rest).padStart(9, "0")}`);
      expect(of(seconds * 1_000_000_000n + rest)).toBe(expected);
    }
  }
});
