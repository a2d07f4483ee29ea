import { expect, test } from "vitest";
import { flatten } from "../../src/protocol/flatten.ts";

test("maps become dotted names, lists of one scalar type stay whole", () => {
  expect(flatten("a", { b: [1, 2], c: { d: "x" }, e: true })).toEqual({
    "a.b": [1, 2],
    "a.c.d": "x",
    "a.e": true,
  });
});

test("mixed lists, lists of maps and nested lists are indexed", () => {
  expect(flatten("a", [1, "x"])).toEqual({ "a.0": 1, "a.1": "x" });
  expect(flatten("a", [{ b: 1 }, { b: 2 }])).toEqual({ "a.0.b": 1, "a.1.b": 2 });
  expect(flatten("a", [[1], ["x"]])).toEqual({ "a.0": [1], "a.1": ["x"] });
});

test("lists are indexed when asked, as for links and tags", () => {
  expect(flatten("t", ["x", "y"], { expandLists: true })).toEqual({ "t.0": "x", "t.1": "y" });
});

test("what no attribute can carry is left out, and what says its own JSON is asked", () => {
  expect(flatten("a", { n: null, u: undefined, f: () => 1, b: 10n, d: new Date(0), e: [], o: {} })).toEqual({
    "a.b": "10",
    "a.d": "1970-01-01T00:00:00.000Z",
  });
});

test("without a prefix the top level's names stand alone", () => {
  expect(flatten("", { a: 1, b: { c: 2 } })).toEqual({ a: 1, "b.c": 2 });
});

test("a circular value ends", () => {
  const value: Record<string, unknown> = { x: 1 };
  value["self"] = value;
  expect(flatten("a", value)["a.x"]).toBe(1);
});

test("the list that is recorded is not the caller's", () => {
  const list = [1, 2];
  const flat = flatten("a", list);
  list.push(3);
  expect(flat).toEqual({ a: [1, 2] });
});
