import { expect, test } from "vitest";
import { safeJson } from "../../src/internal/safe-json.ts";

test("what JSON can carry is JSON", () => {
  expect(safeJson({ a: [1, "x", null] })).toBe('{"a":[1,"x",null]}');
  expect(safeJson(undefined)).toBe("null");
  expect(safeJson(() => 1)).toBe("null");
});

test("cycles and BigInt are replaced in place; a value seen twice is no cycle", () => {
  const shared = { x: 1 };
  const value: Record<string, unknown> = { first: shared, second: shared, big: 2n ** 70n };
  value["self"] = value;
  value["list"] = [value];
  expect(JSON.parse(safeJson(value))).toEqual({
    first: { x: 1 },
    second: { x: 1 },
    big: "1180591620717411303424",
    self: "(circular)",
    list: ["(circular)"],
  });
});

test("a getter or toJSON that throws is noted, not thrown", () => {
  const bad = {
    get x(): number {
      throw new Error("boom");
    },
  };
  expect(safeJson(bad)).toBe('"(not recordable: boom)"');
});
