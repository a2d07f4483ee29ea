import { beforeEach, describe, expect, test } from "vitest";
import {
  emitAnnotation,
  emitException,
  emitMessage,
  emitObject,
  emitReward,
  emitTool,
} from "../../src/capture/emit.ts";
import { AglError } from "../../src/errors.ts";
import type { FinishedSpan } from "../../src/trace/finished-span.ts";
import { currentScope } from "../../src/trace/scope.ts";
import { collect, inRollout } from "../trace/collect.ts";

let spans: FinishedSpan[];
beforeEach(() => {
  spans = collect();
});
const IDS = ["agentlightning.rollout_id", "agentlightning.attempt_id", "agentlightning.outcome"];
const own = (i = 0) =>
  Object.fromEntries(Object.entries(spans[i]?.attributes ?? {}).filter(([name]) => !IDS.includes(name)));

describe("emitReward", () => {
  test("a number, exactly as upstream writes it", () => {
    const ids = inRollout("r", () => emitReward(0.8));
    expect(spans[0]?.name).toBe("agentlightning.annotation");
    expect(own()).toEqual({
      "agentlightning.reward.0.name": "primary",
      "agentlightning.reward.0.value": 0.8,
    });
    expect(ids).toEqual({ traceId: spans[0]?.spanContext().traceId, spanId: spans[0]?.spanContext().spanId });
  });

  test("dimensions, tags, attributes, and a link to a model's answer", () => {
    inRollout("r", () =>
      emitReward(
        { short: 0.3, correct: 1 },
        {
          primaryKey: "correct",
          tags: ["graded"],
          link: { id: "chatcmpl-1" },
          attributes: { judge: { model: "m" } },
        },
      ),
    );
    expect(own()).toEqual({
      "agentlightning.reward.0.name": "correct",
      "agentlightning.reward.0.value": 1,
      "agentlightning.reward.1.name": "short",
      "agentlightning.reward.1.value": 0.3,
      "agentlightning.tag.0": "graded",
      "agentlightning.link.0.key_match": "gen_ai.response.id",
      "agentlightning.link.0.value_match": "chatcmpl-1",
      "judge.model": "m",
    });
  });

  test("links to an emitted span, and to attributes", () => {
    inRollout("r", () => {
      const tool = emitTool({ name: "t" });
      if (tool !== undefined) emitReward(1, { link: tool });
      emitReward(1, { link: { attributes: { "agent.name": "solver" } } });
    });
    expect(own(1)).toMatchObject({
      "agentlightning.link.0.key_match": "trace_id",
      "agentlightning.link.0.value_match": spans[0]?.spanContext().traceId,
      "agentlightning.link.1.key_match": "span_id",
      "agentlightning.link.1.value_match": spans[0]?.spanContext().spanId,
    });
    expect(own(2)).toMatchObject({ "agentlightning.link.0.key_match": "agent.name" });
  });

  test("NaN and infinities are refused before anything is recorded", () => {
    for (const bad of [Number.NaN, Infinity, -Infinity]) {
      expect(() => inRollout("r", () => emitReward(bad))).toThrow(AglError);
      expect(() => inRollout("r", () => emitReward({ a: bad }, { primaryKey: "a" }))).toThrow(
        /"a" must be a finite/,
      );
    }
    expect(spans).toHaveLength(0);
  });

  test("the last one is the rollout's reward, also after an await", async () => {
    const reward = await inRollout("r", async () => {
      emitReward(0.1);
      await Promise.resolve();
      emitReward({ a: 0.9, b: 5 }, { primaryKey: "a" });
      return currentScope()?.rollout?.reward;
    });
    expect(reward).toBe(0.9);
  });

  test("outside a rollout it is checked and recorded nowhere", () => {
    expect(emitReward(1)).toBeUndefined();
    expect(() => emitReward(Number.NaN)).toThrow(AglError);
  });
});

test("emitTool records a call that was made elsewhere, failed or not", () => {
  inRollout("r", () => {
    emitTool({ name: "search", arguments: { q: "x" }, result: ["a"], id: "call_1" });
    emitTool({ name: "search", arguments: {}, error: new RangeError("quota") });
  });
  expect(spans[0]?.name).toBe("execute_tool search");
  expect(own(0)).toEqual({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.arguments": '{"q":"x"}',
    "gen_ai.tool.call.result": '["a"]',
    "gen_ai.tool.call.id": "call_1",
  });
  expect(own(1)).toMatchObject({ "error.type": "RangeError" });
  expect(spans[1]?.status).toEqual({ code: 2, message: "quota" });
});

test("emitMessage takes strings only", () => {
  inRollout("r", () => emitMessage("hello"));
  expect(own()).toEqual({ "agentlightning.message.body": "hello" });
  expect(() => emitMessage(5 as never)).toThrow(/got number/);
});

test("emitObject writes literals and JSON so that upstream's reader gives the value back", () => {
  const cases: Array<[unknown, string, string, string]> = [
    ["x", "str", "literal", "x"],
    [3, "int", "literal", "3"],
    [1.5, "float", "literal", "1.5"],
    [true, "bool", "literal", "True"],
    [new Uint8Array([1, 255]), "bytes", "literal", "Af8="],
    [{ a: [1] }, "dict", "json", '{"a":[1]}'],
    [[1, "x"], "list", "json", '[1,"x"]'],
    [null, "NoneType", "json", "null"],
  ];
  inRollout("r", () => {
    for (const [value] of cases) emitObject(value);
  });
  for (const [i, [, type, kind, text]] of cases.entries()) {
    expect(own(i)).toEqual({ "agentlightning.object.type": type, [`agentlightning.object.${kind}`]: text });
  }
});

test("emitException records the error and is itself no failure", () => {
  inRollout("r", () => emitException(new TypeError("bad")));
  expect(own()).toMatchObject({
    "exception.type": "TypeError",
    "exception.message": "bad",
    "exception.escaped": false,
  });
  expect(String(own()["exception.stacktrace"])).toContain("TypeError: bad");
  expect(spans[0]?.status.code).toBe(1);
});

test("emitAnnotation flattens; own names win over further attributes", () => {
  inRollout("r", () => {
    emitAnnotation({ a: { b: 1 } }, { tags: ["t"] });
    emitMessage("own", { attributes: { "agentlightning.message.body": "other" } });
  });
  expect(own(0)).toEqual({ "a.b": 1, "agentlightning.tag.0": "t" });
  expect(own(1)["agentlightning.message.body"]).toBe("own");
});
