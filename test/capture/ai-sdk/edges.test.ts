import { MockLanguageModelV3 } from "ai/test";
import { afterEach, describe, expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { Agl, GenAi } from "../../../src/protocol/semconv.ts";
import { createGate } from "../../../src/testing/gate.ts";
import type { ReplyScript } from "../../../src/testing/model-reply.ts";
import { type ModelServer, serveModel } from "../../../src/testing/model-server.ts";
import { spanTree } from "../../../src/testing/span-tree.ts";
import { record } from "../recorded.ts";
import { addTool, agentOf, type Stage, textOf } from "./scenario.ts";
import { type AnyModule, steps, VERSIONS } from "./versions.ts";

const MODEL = "openai.chat.completion";
const [FIVE, SIX, SEVEN] = VERSIONS as [AnyModule, AnyModule, AnyModule];
const ADD = { toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] };

let server: ModelServer | undefined;
afterEach(() => server?.close());

async function set(version: AnyModule, reply: ReplyScript) {
  const { ai, createProvider } = await version.load();
  server = await serveModel({ reply });
  const provider = createProvider({ name: "toy", baseURL: server.url, apiKey: "key" });
  const our = instrument(ai);
  const stage = { ai: our, major: version.major, model: () => provider("toy") } as unknown as Stage;
  return { ai: our, bare: ai, provider, stage };
}

const outcomeOf = (spans: readonly { name: string; attributes: object }[], name: string) =>
  spans.filter((span) => span.name === name).map(({ attributes }) => (attributes as AnyModule)[Agl.Outcome]);

describe.each([SIX, SEVEN])("tools that a person approves, ai $major", (version) => {
  test("run once they are approved", async () => {
    const { ai, provider } = await set(version, [ADD, "It is 3"]);
    const tools = { add: { ...addTool(ai), needsApproval: true } };
    const model = provider("toy");
    const ask = { role: "user", content: "1+2" };
    const { spans } = await record(async () => {
      const first = await ai.generateText({ model, tools, messages: [ask], stopWhen: steps(ai, 3) });
      const request = first.content.find((part: AnyModule) => part.type === "tool-approval-request");
      const approval = { type: "tool-approval-response", approvalId: request.approvalId, approved: true };
      const messages = [ask, ...first.response.messages, { role: "tool", content: [approval] }];
      await ai.generateText({ model, tools, messages, stopWhen: steps(ai, 3) });
    });
    expect(spanTree(spans)).toBe(`${MODEL}\nexecute_tool add\n${MODEL}`);
  });
});

describe.each(VERSIONS)("streaming agents, ai $major", (version) => {
  test("an abort ends the agent", async () => {
    const gate = createGate();
    const { stage } = await set(version, {
      content: "a b c d e f g h",
      fault: { gate: (n) => (n > 0 ? gate.pass() : undefined) },
    });
    const controller = new AbortController();
    const { spans, open } = await record(async () => {
      const agent = agentOf(stage, "solver", {});
      const result = await agent.stream({ prompt: "go", abortSignal: controller.signal });
      const read = textOf(result.textStream).catch(() => {});
      await gate.arrived();
      controller.abort();
      await read;
    });
    gate.open();
    expect(outcomeOf(spans, MODEL)).toEqual(["aborted"]);
    expect(outcomeOf(spans, "invoke_agent solver")).toEqual(["aborted"]);
    expect(open).toBe(0);
  });

  test("an agent that may not try again ends with its first failure", async () => {
    const { stage } = await set(version, [{ fault: { status: 503, headers: { "retry-after-ms": "1" } } }]);
    const { spans, open } = await record(async () => {
      const agent = agentOf(stage, "solver", { maxRetries: 0, onError: () => {} });
      const result = await agent.stream({ prompt: "go" });
      await result.consumeStream({ onError: () => {} });
    });
    expect(outcomeOf(spans, MODEL)).toEqual(["error"]);
    expect(outcomeOf(spans, "invoke_agent solver")).toEqual(["error"]);
    expect(open).toBe(0);
  });

  test("an agent that is stopped before its next step ends with the rollout, at its last step's time", async () => {
    const { stage, ai } = await set(version, [ADD]);
    const { spans } = await record(async () => {
      const agent = agentOf(stage, "solver", { tools: { add: addTool(ai) }, stopWhen: steps(ai, 1) });
      await textOf((await agent.stream({ prompt: "go" })).textStream);
    });
    expect(outcomeOf(spans, "invoke_agent solver")).toEqual(["ok"]);
  });
});

test("a functionId names the agent of a single call", async () => {
  const { ai, provider } = await set(FIVE, "Hello");
  const options = { model: provider("toy"), prompt: "Hi", experimental_telemetry: { functionId: "greeter" } };
  const { spans } = await record(() => ai.generateText(options));
  expect(spanTree(spans)).toBe(`invoke_agent greeter [greeter]\n  ${MODEL} [greeter]`);
});

test("a model of another protocol is recorded from what it gives", async () => {
  const usage = {
    inputTokens: { total: 3, noCache: 3, cacheRead: 1, cacheWrite: 0 },
    outputTokens: { total: 2, text: 1, reasoning: 1 },
  };
  const model = instrument(
    new MockLanguageModelV3({
      modelId: "mock",
      doGenerate: async () => ({
        content: [
          { type: "reasoning", text: "hm" },
          { type: "tool-call", toolCallId: "c1", toolName: "add", input: '{"a":1,"b":2}' },
        ],
        finishReason: { unified: "tool-calls", raw: "x" },
        usage,
        warnings: [],
      }),
    }),
  );
  const { ai } = await SIX.load();
  const { spans, toolCalls } = await record(() =>
    ai.generateText({
      model,
      system: "Be brief",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "see" },
            { type: "image", image: new Uint8Array([1, 2]) },
          ],
        },
        {
          role: "assistant",
          content: [{ type: "tool-call", toolCallId: "c0", toolName: "add", input: { a: 1, b: 1 } }],
        },
        {
          role: "tool",
          content: [
            { type: "tool-result", toolCallId: "c0", toolName: "add", output: { type: "json", value: 2 } },
          ],
        },
      ],
      tools: { add: { ...addTool(ai), execute: undefined } },
    }),
  );
  expect(spans[0]!.attributes).toMatchObject({
    [GenAi.RequestModel]: "mock",
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Be brief",
    "gen_ai.prompt.1.content": expect.not.stringContaining('"1"'),
    "gen_ai.prompt.2.tool_calls.0.arguments": '{"a":1,"b":1}',
    "gen_ai.prompt.3.role": "tool",
    "gen_ai.prompt.3.content": "2",
    "gen_ai.prompt.3.tool_call_id": "c0",
    "gen_ai.request.functions.0.name": "add",
    "gen_ai.completion.0.reasoning": "hm",
    "gen_ai.completion.0.finish_reason": "tool_calls",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"a":1,"b":2}',
    [GenAi.InputTokens]: 3,
    [GenAi.OutputTokens]: 2,
    "gen_ai.usage.cache_read.input_tokens": 1,
    "gen_ai.usage.reasoning_tokens": 1,
  });
  expect(toolCalls.map(({ name }) => name)).toEqual(["tool_call.add"]);
});
