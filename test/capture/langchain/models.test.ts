import { InMemoryCache } from "@langchain/core/caches";
import { CallbackManager } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import OpenAI from "openai";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { instrument } from "../../../src/capture/instrument.ts";
import { openRuns } from "../../../src/capture/langchain/runs.ts";
import type { Reply } from "../../../src/testing/model-reply.ts";
import { chatOpenAI } from "./chat-openai.ts";
import { lines, record } from "./setup.ts";

let next: Reply[] = [];
const toy = chatOpenAI({ reply: (): Reply => next.shift() ?? { content: "Hello there" } });
const { modelOf } = toy;
beforeAll(() => {
  instrument(CallbackManager);
});
const fake = (responses: string[] = ["one two"], more: object = {}) =>
  new FakeListChatModel({ responses, ...more });
const outcomes = (spans: ReadonlyArray<{ attributes: Record<string, unknown> }>) =>
  spans.map((span) => span.attributes["agentlightning.outcome"]);

test("a model without an OpenAI client gives one span of LangChain's making", async () => {
  const call = new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "add", args: { a: 1 } }] });
  const prompt = [new HumanMessage("Hi"), call, new ToolMessage({ tool_call_id: "c1", content: "2" })];
  const { spans, value } = await record(() => fake().invoke(prompt));
  expect(value.content).toBe("one two");
  expect(spans.map((span) => span.name)).toEqual(["openai.chat.completion"]);
  expect(spans[0]!.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "FakeListChatModel",
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": "Hi",
    "gen_ai.prompt.1.role": "assistant",
    "gen_ai.prompt.1.tool_calls.0.name": "add",
    "gen_ai.prompt.1.tool_calls.0.arguments": '{"a":1}',
    "gen_ai.prompt.2.role": "tool",
    "gen_ai.prompt.2.tool_call_id": "c1",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "one two",
    "agentlightning.outcome": "ok",
  });
});

test("such a model streamed, to the end and left in the middle", async () => {
  const whole = await record(async () => {
    let text = "";
    for await (const piece of await fake().stream("Hi")) text += piece.content;
    return text;
  });
  expect(whole.value).toBe("one two");
  expect(whole.spans.map((span) => span.attributes["gen_ai.completion.0.content"])).toEqual(["one two"]);
  const left = await record(async () => {
    let count = 0;
    for await (const _ of await fake().stream("Hi")) if (++count === 3) break;
  });
  expect(outcomes(left.spans)).toEqual(["cancelled"]);
  expect(openRuns()).toBe(0);
});

test("such a stream that nobody reads on is ended with the rollout, with what had come", async () => {
  const { spans, open } = await record(async () => {
    const iterator = fake()
      .stream("Hi")
      .then((stream) => stream[Symbol.asyncIterator]());
    await (await iterator).next();
  });
  expect([open, outcomes(spans)]).toEqual([1, ["incomplete"]]);
  expect(openRuns()).toBe(0);
});

test("such a model that fails", async () => {
  class Broken extends FakeListChatModel {
    override _generate(): never {
      throw new RangeError("no");
    }
  }
  const model = new Broken({ responses: ["x"] });
  const { spans } = await record(() => expect(model.invoke("Hi")).rejects.toThrow("no"));
  expect(outcomes(spans)).toEqual(["error"]);
  expect(spans[0]!.status.message).toBe("no");
});

test("a model of the program's own around an instrumented client: only the client's span", async () => {
  const openai = instrument(new OpenAI({ apiKey: "none", baseURL: toy.server.url }));
  class Own extends BaseChatModel {
    _llmType() {
      return "own";
    }
    async _generate() {
      const answer = await openai.chat.completions.create({
        model: "toy",
        messages: [{ role: "user", content: "inner" }],
      });
      const text = String(answer.choices[0]?.message.content);
      return { generations: [{ text, message: new AIMessage(text) }] };
    }
  }
  const { spans } = await record(() => new Own({}).invoke("outer"));
  expect(spans.map((span) => span.attributes["gen_ai.prompt.0.content"])).toEqual(["inner"]);
});

test("a cache: the first call is the client's, the second LangChain's", async () => {
  const model = modelOf({ cache: new InMemoryCache() });
  const { spans, value } = await record(async () => [
    (await model.invoke("cached?")).content,
    (await model.invoke("cached?")).content,
  ]);
  expect(value).toEqual(["Hello there", "Hello there"]);
  expect(spans.map((span) => span.attributes["gen_ai.completion.0.content"])).toEqual(value);
  expect(spans.map((span) => "server.port" in span.attributes)).toEqual([true, false]);
});

test("retries: a span an attempt", async () => {
  next = [{ fault: { status: 500 } }];
  const { spans } = await record(() => modelOf({ maxRetries: 1 }).invoke("Hi"));
  expect(outcomes(spans)).toEqual(["error", "ok"]);
  expect(openRuns()).toBe(0);
});

test("a call that fails: one span, the client's, and the error that the program gets without us", async () => {
  next = [{ fault: { status: 400 } }, { fault: { status: 400 } }];
  const plain = await modelOf()
    .invoke("Hi")
    .catch((error: unknown) => error);
  const { spans, value } = await record(() =>
    modelOf()
      .invoke("Hi")
      .catch((error: unknown) => error),
  );
  expect(String(value)).toBe(String(plain));
  expect(outcomes(spans)).toEqual(["error"]);
});

test("an aborted call", async () => {
  next = [{ fault: { cut: { after: 0, how: "hang" } } }];
  const controller = new AbortController();
  const { spans } = await record(async () => {
    const before = toy.server.requests.length;
    const answer = modelOf().invoke("Hi", { signal: controller.signal });
    await toy.server.request(before);
    controller.abort();
    await expect(answer).rejects.toThrow();
  });
  expect(outcomes(spans)).toEqual(["aborted"]);
});

const schema = z.object({ name: z.string(), age: z.number() });
test.each(["jsonSchema", "functionCalling", "jsonMode"] as const)(
  "withStructuredOutput by %s: the value, and one span with token ids",
  async (method) => {
    const json = { name: "Ann", age: 3 };
    next = [
      method === "functionCalling"
        ? { toolCalls: [{ name: "person", arguments: json }] }
        : { content: JSON.stringify(json) },
    ];
    const model = modelOf().withStructuredOutput(schema, { name: "person", method });
    const { value, spans } = await record(() => model.invoke("Who? Answer in JSON."), "train");
    expect(value).toEqual(json);
    const calls = spans.filter((span) => span.name === "openai.chat.completion");
    expect(calls).toHaveLength(1);
    const { answer } = toy.server.requests.at(-1)!;
    expect(calls[0]!.attributes["prompt_token_ids"]).toEqual(answer!.promptIds);
    expect(calls[0]!.attributes["gen_ai.response.id"]).toEqual(expect.any(String));
  },
);

test("a history of a hundred messages is kept whole", async () => {
  const messages = Array.from({ length: 100 }, (_, i) => new HumanMessage(`m${i}`));
  for (const model of [fake(), modelOf()]) {
    const { spans } = await record(() => model.invoke(messages));
    expect(spans[0]!.attributes["gen_ai.prompt.99.content"]).toBe("m99");
  }
});

test("a stream of ChatOpenAI's that is left", async () => {
  const { spans } = await record(async () => {
    for await (const _ of await modelOf().stream("Hi")) break;
  });
  expect(spans).toHaveLength(1);
  expect(spans[0]!.attributes["agentlightning.outcome"]).toBe("cancelled");
  expect(openRuns()).toBe(0);
});

test("a batch: a span a prompt", async () => {
  const { spans } = await record(() => modelOf().batch(["a", "b", "c"]));
  expect(spans.map((span) => span.attributes["gen_ai.prompt.0.content"]).sort()).toEqual(["a", "b", "c"]);
});

test("the program's callbacks stay its own", async () => {
  const seen: string[] = [];
  const callbacks = [{ handleLLMEnd: () => void seen.push("end") }];
  const { tree } = await record(() => modelOf().invoke("Hi", { callbacks }));
  expect(callbacks).toHaveLength(1);
  expect(tree).toBe(lines("openai.chat.completion"));
  const manager = CallbackManager.fromHandlers({ handleLLMEnd: () => void seen.push("managed") });
  await record(() => modelOf().invoke("Hi", { callbacks: manager }));
  expect(manager.handlers).toHaveLength(1);
});

test("outside a rollout nothing is recorded or asked for", async () => {
  const message = await modelOf().invoke("Hi");
  expect(message.content).toBe("Hello there");
  expect(toy.server.requests.at(-1)!.body).not.toHaveProperty("return_token_ids");
  expect(openRuns()).toBe(0);
});

test("ChatOpenAI on the responses endpoint: one span, whole and streamed", async () => {
  const model = modelOf({ useResponsesApi: true });
  const { spans, value } = await record(async () => {
    let text = "";
    for await (const piece of await model.stream("Hi")) text += piece.text;
    return [(await model.invoke("Hi")).text, text];
  });
  expect(value).toEqual(["Hello there", "Hello there"]);
  expect(spans.map((span) => span.name)).toEqual(["openai.chat.completion", "openai.chat.completion"]);
  expect(spans.map((span) => span.attributes["gen_ai.completion.0.content"])).toEqual(value);
});
