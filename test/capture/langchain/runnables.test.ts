/**
 * The ways in which LangChain runs a runnable, and the runnables that it makes of others.
 */
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { RunnableLambda, RunnableParallel } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { openRuns } from "../../../src/capture/langchain/runs.ts";
import type { Reply } from "../../../src/testing/model-reply.ts";
import { chatOpenAI } from "./chat-openai.ts";
import { lines, type Recorded, record } from "./setup.ts";

let next: Reply[] = [];
const toy = chatOpenAI({ reply: () => next.shift() });
const { modelOf } = toy;
beforeEach(() => {
  next = [];
});

const ask = () => ChatPromptTemplate.fromTemplate("Add {a}").pipe(modelOf()).pipe(new StringOutputParser());
const CHAIN = [
  "chain RunnableSequence",
  "  chain ChatPromptTemplate",
  "  openai.chat.completion",
  "  chain StrOutputParser",
];
const outcomes = ({ spans }: Recorded<unknown>) =>
  spans.map((span) => [span.name, span.attributes["agentlightning.outcome"]]);
const calls = ({ spans }: Recorded<unknown>) =>
  spans.filter((span) => span.name === "openai.chat.completion");

test("batch: a chain an input, each with its own call", async () => {
  const all = await record(() => ask().batch([{ a: 1 }, { a: 2 }, { a: 3 }], { maxConcurrency: 2 }));
  expect(all.value).toEqual(["You said: Add 1", "You said: Add 2", "You said: Add 3"]);
  expect(all.tree.split("\n").sort()).toEqual([...CHAIN, ...CHAIN, ...CHAIN].sort());
  const parents = calls(all).map((span) => span.parentSpanContext?.spanId);
  expect(new Set(parents).size).toBe(3);
  expect(
    calls(all)
      .map((span) => span.attributes["gen_ai.prompt.0.content"])
      .sort(),
  ).toEqual(["Add 1", "Add 2", "Add 3"]);
});

test("a batch whose errors are returned", async () => {
  next = [{ fault: { status: 400 } }];
  const all = await record(() =>
    ask().batch([{ a: 1 }, { a: 2 }], { maxConcurrency: 1 }, { returnExceptions: true }),
  );
  expect(all.value[0]).toBeInstanceOf(Error);
  expect(all.value[1]).toBe("You said: Add 2");
  expect(calls(all).map((span) => span.attributes["agentlightning.outcome"])).toEqual(["error", "ok"]);
  expect([all.open, openRuns()]).toEqual([0, 0]);
});

test("streamEvents: the events that come without us, and one span a run", async () => {
  const listen = async () => {
    const seen: string[] = [];
    for await (const { event, name } of ask().streamEvents({ a: 1 }, { version: "v2" })) {
      seen.push(`${event} ${name}`);
    }
    return seen;
  };
  const plain = await listen();
  const { tree, value, open } = await record(listen);
  expect(value).toEqual(plain);
  expect([tree, open, openRuns()]).toEqual([lines(...CHAIN), 0, 0]);
});

test("events that nobody reads on", async () => {
  const { tree } = await record(async () => {
    for await (const { event } of ask().streamEvents({ a: 1 }, { version: "v2" })) {
      if (event === "on_chat_model_stream") break;
    }
  });
  expect(tree.match(/openai\.chat\.completion/g)).toHaveLength(1);
  await expect.poll(openRuns).toBe(0);
});

test("transform: a chain that is fed piece by piece", async () => {
  const feed = async function* () {
    yield { a: 1 };
  };
  const all = await record(async () => {
    let text = "";
    for await (const piece of ask().transform(feed(), {})) text += piece;
    return text;
  });
  expect(all.value).toBe("You said: Add 1");
  expect(all.tree.split("\n").sort()).toEqual([...CHAIN].sort());
  expect([all.open, openRuns()]).toEqual([0, 0]);
});

test("fallbacks: the call that failed and the one in its place", async () => {
  next = [{ fault: { status: 400 } }];
  const all = await record(() =>
    modelOf()
      .withFallbacks([modelOf({ model: "spare" })])
      .invoke("Hi"),
  );
  expect(all.value.content).toBe("You said: Hi");
  expect(all.tree).toBe(
    lines("chain RunnableWithFallbacks", "  openai.chat.completion", "  openai.chat.completion"),
  );
  expect(
    calls(all).map(({ attributes: a }) => [a["gen_ai.request.model"], a["agentlightning.outcome"]]),
  ).toEqual([
    ["toy", "error"],
    ["spare", "ok"],
  ]);
});

test("withRetry: a span an attempt, under a run of the model's name", async () => {
  next = [{ fault: { status: 500 } }];
  const all = await record(() => modelOf().withRetry({ stopAfterAttempt: 2 }).invoke("Hi"));
  expect(outcomes(all)).toEqual([
    ["openai.chat.completion", "error"],
    ["openai.chat.completion", "ok"],
    ["chain ChatOpenAI", "ok"],
  ]);
  expect(openRuns()).toBe(0);
});

test("RunnableParallel: its branches side by side", async () => {
  const branches = RunnableParallel.from({
    one: RunnableLambda.from(async (x: string) => (await modelOf().invoke(`1 ${x}`)).content),
    two: RunnableLambda.from(async (x: string) => (await modelOf().invoke(`2 ${x}`)).content),
  });
  const all = await record(() => branches.invoke("x"));
  expect(all.value).toEqual({ one: "You said: 1 x", two: "You said: 2 x" });
  expect(all.tree).toBe(
    lines(
      "chain RunnableMap",
      "  chain RunnableLambda",
      "    openai.chat.completion",
      "  chain RunnableLambda",
      "    openai.chat.completion",
    ),
  );
});

test("bindTools: the tools that were offered and the calls that were asked for", async () => {
  const add = tool(({ a, b }: { a: number; b: number }) => String(a + b), {
    name: "add",
    description: "Adds",
    schema: z.object({ a: z.number(), b: z.number() }),
  });
  next = [{ toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] }];
  const all = await record(() => modelOf().bindTools([add]).invoke("1 + 2?"), "train");
  expect(all.value.tool_calls?.map(({ name, args }) => [name, args])).toEqual([["add", { a: 1, b: 2 }]]);
  expect(calls(all)).toHaveLength(1);
  expect(calls(all)[0]!.attributes).toMatchObject({
    "gen_ai.completion.0.tool_calls.0.name": "add",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"a":1,"b":2}',
  });
  expect(JSON.stringify(calls(all)[0]!.attributes)).toContain("Adds");
  expect(calls(all)[0]!.attributes).toHaveProperty("response_token_ids");
});

test("a tool that fails in a graph's node of tools: an error, which the model is told of", async () => {
  const broken = tool(() => Promise.reject(new RangeError("no")), {
    name: "broken",
    description: "",
    schema: z.object({}),
  });
  const asked = new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "broken", args: {} }] });
  const all = await record(() => new ToolNode([broken]).invoke({ messages: [asked] }));
  const [answer] = (all.value as { messages: ToolMessage[] }).messages;
  expect(answer).toBeInstanceOf(ToolMessage);
  expect(String(answer!.content)).toContain("no");
  const span = all.spans.find(({ name }) => name === "execute_tool broken")!;
  expect([span.attributes["agentlightning.outcome"], span.status.message]).toEqual(["error", "no"]);
  expect(span.attributes["gen_ai.tool.call.id"]).toBe("c1");
});

test("a stream with its usage: the chunks that come without us, and the counts", async () => {
  const read = async () => {
    const pieces: unknown[] = [];
    for await (const piece of await modelOf({ streamUsage: true }).stream("Hi")) {
      pieces.push([piece.content, piece.usage_metadata]);
    }
    return pieces;
  };
  const plain = await read();
  const all = await record(read, "train");
  expect(all.value).toEqual(plain);
  const usage = all.value.map((piece) => (piece as [unknown, { output_tokens: number }])[1]).find(Boolean);
  expect(calls(all)[0]!.attributes["gen_ai.usage.output_tokens"]).toBe(usage!.output_tokens);
  expect(calls(all)[0]!.attributes["response_token_ids"]).toHaveLength(usage!.output_tokens);
});

test("a stream without its usage stays without it", async () => {
  const read = async () => {
    const pieces: unknown[] = [];
    for await (const piece of await modelOf({ streamUsage: false }).stream("Hi")) {
      pieces.push([piece.content, piece.usage_metadata]);
    }
    return pieces;
  };
  const plain = await read();
  expect((await record(read, "train")).value).toEqual(plain);
});
