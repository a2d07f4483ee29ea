import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AglError } from "../../src/errors.ts";
import {
  linkAttributes,
  readReward,
  rewardAttributes,
  rewardDimensions,
  tagAttributes,
} from "../../src/protocol/reward.ts";
import { times } from "../times.ts";

const refused = (fn: () => unknown): string => {
  try {
    fn();
  } catch (error) {
    expect(AglError.is(error) && error.code).toBe("invalid_argument");
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
};

test("a number is the primary dimension, with upstream's names", () => {
  expect(rewardAttributes(rewardDimensions(0.8))).toEqual({
    "agentlightning.reward.0.name": "primary",
    "agentlightning.reward.0.value": 0.8,
  });
});

test("the primary dimension comes first, the others keep their order", () => {
  expect(rewardDimensions({ short: 0.3, correct: true, fast: 2 }, "correct")).toEqual([
    { name: "correct", value: 1 },
    { name: "short", value: 0.3 },
    { name: "fast", value: 2 },
  ]);
});

describe("what is refused, with the value and the remedy", () => {
  for (const bad of [Number.NaN, Infinity, -Infinity, "1", null, undefined, [1]]) {
    test(`${String(bad)} as the reward and as a dimension`, () => {
      refused(() => rewardDimensions(bad as never));
      expect(refused(() => rewardDimensions({ a: bad as never }, "a"))).toMatch(
        /"a" must be a finite number/,
      );
    });
  }
  test("dimensions without a primary key", () => {
    expect(refused(() => rewardDimensions({ a: 1, b: 2 }))).toContain('one of "a", "b"');
  });
  test("a primary key that is no dimension, also one of Object.prototype", () => {
    expect(refused(() => rewardDimensions({ a: 1 }, "c"))).toContain('"c" is not among the dimensions "a"');
    refused(() => rewardDimensions({ a: 1 }, "toString"));
  });
  test("no dimension, or a primary key beside a single number", () => {
    refused(() => rewardDimensions({}, "a"));
    refused(() => rewardDimensions(1, "a"));
  });
});

test("links and tags", () => {
  expect(linkAttributes({ "gen_ai.response.id": "r1", span_id: "abc" })).toEqual({
    "agentlightning.link.0.key_match": "gen_ai.response.id",
    "agentlightning.link.0.value_match": "r1",
    "agentlightning.link.1.key_match": "span_id",
    "agentlightning.link.1.value_match": "abc",
  });
  expect(tagAttributes(["x", "y"])).toEqual({ "agentlightning.tag.0": "x", "agentlightning.tag.1": "y" });
});

test("what is written is read back", () => {
  const name = fc.string({ minLength: 1 }).filter((s) => s !== "__proto__");
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(fc.dictionary(name, number, { minKeys: 1 }), fc.nat(), (reward, pick) => {
      const names = Object.keys(reward);
      const dimensions = rewardDimensions(reward, names[pick % names.length]);
      const span = { name: "agentlightning.annotation", attributes: rewardAttributes(dimensions) };
      expect(readReward(span)).toEqual(dimensions);
      expect(dimensions).toHaveLength(names.length);
    }),
    times(100),
  );
});

test("upstream's older formats are read", () => {
  const read = (attributes: Record<string, string | number>, name = "x") => readReward({ name, attributes });
  expect(read({ "agentops.task.output": '{"type":"reward","value":0.5}' })).toEqual([
    { name: "primary", value: 0.5 },
  ]);
  expect(read({ "agentops.entity.output": '{"type":"reward","value":1}' })).toEqual([
    { name: "primary", value: 1 },
  ]);
  expect(read({ "agentops.entity.output": "not json" })).toEqual([]);
  expect(read({ reward: 0.25 }, "agentlightning.annotation")).toEqual([{ name: "primary", value: 0.25 }]);
  expect(read({ reward: 0.25 }, "other")).toEqual([]);
  expect(read({})).toEqual([]);
});
