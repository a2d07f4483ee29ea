import type { Model, ModelRequest, ModelResponse, StreamEvent } from "@openai/agents";
import { Usage } from "@openai/agents";
import OpenAI from "openai";
import OpenAI7 from "openai-v7";
import { afterAll, beforeAll, expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { type ModelServer, serveModel } from "../../../src/testing/model-server.ts";
import { lines, record } from "../langchain/setup.ts";
import { adder } from "./scenarios.ts";
import { BUILDS } from "./stage.ts";

const agents = BUILDS.esm;
let server: ModelServer;
beforeAll(async () => {
  server = await serveModel({
    reply: ({ messages, tools }) =>
      tools.includes("add") && messages.at(-1)?.role !== "tool"
        ? { toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] }
        : { content: `said ${messages.at(-1)?.content}` },
  });
  instrument(agents);
});
afterAll(() => server.close());

const { OpenAIChatCompletionsModel, OpenAIProvider, OpenAIResponsesModel } = agents;
const settings = () => ({ apiKey: "none", baseURL: server.url });
const tree = lines(
  "invoke_agent solver [solver]",
  "  openai.chat.completion [solver]",
  "  execute_tool add [solver]",
  "  openai.chat.completion [solver]",
);

/** What the SDK would make for itself: a client of its own copy of openai. */
async function ownClient(): Promise<never> {
  const model = await new OpenAIProvider({ ...settings(), useResponses: true }).getModel("toy");
  return (model as unknown as { _client: never })._client;
}

interface Way {
  name: string;
  /** The agent's model, or the runner's settings. */
  make(): Promise<{ model?: Model; runner?: object }>;
  /** Whether token ids are asked for: not where the client cannot be found. */
  ids: boolean;
}

const WAYS: readonly Way[] = [
  {
    name: "a provider's own client, chat",
    make: async () => ({
      runner: { modelProvider: new OpenAIProvider({ ...settings(), useResponses: false }) },
    }),
    ids: true,
  },
  {
    name: "a model with a client of the SDK's copy, chat",
    make: async () => ({ model: new OpenAIChatCompletionsModel(await ownClient(), "toy") }),
    ids: true,
  },
  {
    name: "a model with an instrumented client of another copy, chat",
    make: async () => ({
      model: new OpenAIChatCompletionsModel(instrument(new OpenAI7(settings())) as never, "toy"),
    }),
    ids: true,
  },
  {
    name: "a model with a client of another copy, chat",
    make: async () => ({ model: new OpenAIChatCompletionsModel(new OpenAI(settings()) as never, "toy") }),
    ids: false,
  },
  {
    name: "a model with a client of another copy, responses",
    make: async () => ({ model: new OpenAIResponsesModel(new OpenAI(settings()) as never, "toy") }),
    ids: false,
  },
  {
    name: "an instrumented client in a provider",
    make: async () => {
      const openAIClient = instrument(new OpenAI(settings())) as never;
      return { runner: { modelProvider: new OpenAIProvider({ openAIClient, useResponses: false }) } };
    },
    ids: true,
  },
  {
    name: "the default client, instrumented by hand",
    make: async () => {
      agents.setDefaultOpenAIClient(instrument(new OpenAI(settings())) as never);
      return { runner: { modelProvider: new OpenAIProvider({ useResponses: false }) } };
    },
    ids: true,
  },
  {
    name: "the default client, of another copy",
    make: async () => {
      agents.setDefaultOpenAIClient(new OpenAI(settings()) as never);
      return { runner: { modelProvider: new OpenAIProvider({ useResponses: false }) } };
    },
    ids: true,
  },
];

test.each(WAYS.flatMap((way) => [false, true].map((stream) => [way.name, stream, way] as const)))(
  "one span a model call: %s, streamed: %s",
  async (_, stream, { make, ids }) => {
    const { model = "toy", runner } = await make();
    const solver = new agents.Agent({ name: "solver", model, tools: [adder(agents)] });
    const run = async () => {
      const result = await new agents.Runner(runner).run(solver, "1 + 2?", { stream } as { stream: true });
      if (stream) await result.completed;
      return result.finalOutput;
    };
    const recorded = await record(run, "train");
    expect(recorded.value).toBe("said 3");
    expect(recorded.open).toBe(0);
    expect(recorded.tree).toBe(tree);
    const calls = recorded.spans.filter((span) => span.name === "openai.chat.completion");
    for (const { attributes } of calls) expect("response_token_ids" in attributes).toBe(ids);
    expect(calls[1]!.attributes).toMatchObject({
      "gen_ai.request.model": expect.any(String),
      "gen_ai.prompt.0.role": "user",
      "gen_ai.prompt.0.content": "1 + 2?",
      "gen_ai.prompt.1.tool_calls.0.name": "add",
      "gen_ai.prompt.1.tool_calls.0.arguments": '{"a":1,"b":2}',
      "gen_ai.prompt.2.role": "tool",
      "gen_ai.prompt.2.content": "3",
      "gen_ai.request.functions.0.name": "add",
      "gen_ai.completion.0.content": "said 3",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": expect.any(Number),
    });
    expect(calls[0]!.attributes).toMatchObject({ "gen_ai.completion.0.tool_calls.0.name": "add" });
  },
);

test("a client that a proxy records is not recorded again", async () => {
  const proxied = instrument(await ownClient(), { proxy: { baseURL: server.url } });
  for (const model of [
    new OpenAIChatCompletionsModel(proxied, "toy"),
    new OpenAIResponsesModel(proxied, "toy"),
  ]) {
    const { tree } = await record(() => agents.run(new agents.Agent({ name: "solver", model }), "go"));
    expect(tree).toBe("invoke_agent solver [solver]");
  }
});

function squawk({ input }: ModelRequest): ModelResponse {
  if (JSON.stringify(input).includes("fail")) throw new TypeError("no words");
  return {
    usage: new Usage({ inputTokens: 3, outputTokens: 1, totalTokens: 4 }),
    output: [
      {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "squawk" }],
      },
    ],
    responseId: "parrot-answer",
  };
}

/** A model that answers by itself. */
class Parrot implements Model {
  readonly model = "parrot-1";
  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    return squawk(request);
  }
  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    yield { type: "response_started" };
    yield { type: "output_text_delta", delta: "squ" };
    yield { type: "output_text_delta", delta: "awk" };
    const { output, usage } = squawk(request);
    const { inputTokens, outputTokens, totalTokens } = usage;
    const response = { id: "parrot-answer", output, usage: { inputTokens, outputTokens, totalTokens } };
    yield { type: "response_done", response } as StreamEvent;
  }
}

test.each([false, true])("a model of the program's own (streamed: %s)", async (stream) => {
  const agent = new agents.Agent({ name: "bird", model: new Parrot(), instructions: "Repeat." });
  const { spans, tree, open, value } = await record(async () => {
    const result = await agents.run(agent, "hello", { stream } as { stream: true });
    if (stream) await result.completed;
    return result.finalOutput;
  });
  expect(value).toBe("squawk");
  expect(open).toBe(0);
  expect(tree).toBe(lines("invoke_agent bird [bird]", "  openai.chat.completion [bird]"));
  expect(spans[0]!.attributes).toEqual({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "parrot-1",
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Repeat.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": "hello",
    "gen_ai.response.id": "parrot-answer",
    "gen_ai.usage.input_tokens": 3,
    "gen_ai.usage.prompt_tokens": 3,
    "gen_ai.usage.output_tokens": 1,
    "gen_ai.usage.completion_tokens": 1,
    "gen_ai.usage.total_tokens": 4,
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "squawk",
    "gen_ai.completion.0.finish_reason": "stop",
    "gen_ai.response.finish_reasons": ["stop"],
    "agentlightning.rollout_id": "ro-0",
    "agentlightning.attempt_id": "at-ro-0",
    "agentlightning.outcome": "ok",
    "agent.name": "bird",
    "gen_ai.agent.name": "bird",
  });
});

test.each([false, true])("a model of the program's own that fails (streamed: %s)", async (stream) => {
  const agent = new agents.Agent({ name: "bird", model: new Parrot() });
  const { spans, open } = await record(async () => {
    const run = async () => {
      const result = await agents.run(agent, "fail", { stream } as { stream: true });
      if (stream) await result.completed;
    };
    await expect(run()).rejects.toThrow("no words");
  });
  expect(open).toBe(0);
  const { attributes } = spans[0]!;
  expect(attributes).toMatchObject({ "agentlightning.outcome": "error", "error.type": "TypeError" });
  expect(attributes["gen_ai.completion.0.content"]).toBe(stream ? "squawk" : undefined);
});

test("a model around another one, behind a provider of the program's own: the inner call is the span", async () => {
  const inner = await new OpenAIProvider({ ...settings(), useResponses: false }).getModel("toy");
  const modelProvider = {
    getModel: (): Model => ({
      getResponse: (request) => inner.getResponse(request),
      getStreamedResponse: (request) => inner.getStreamedResponse(request),
    }),
  };
  const solver = new agents.Agent({ name: "solver", tools: [adder(agents)] });
  const { tree: whole } = await record(() => new agents.Runner({ modelProvider }).run(solver, "go"));
  expect(whole).toBe(tree);
  const { tree: streamed } = await record(async () => {
    const result = await new agents.Runner({ modelProvider }).run(solver, "go", { stream: true });
    await result.completed;
  });
  expect(streamed).toBe(tree);
});

test("what the program finds on its clients, spans and modules stays its own", async () => {
  const client = (await ownClient()) as OpenAI;
  const direct = await record(() =>
    client.chat.completions.create({ model: "toy", messages: [{ role: "user", content: "Hi" }] }),
  );
  // Only what an agent's model calls is recorded.
  expect(direct.spans).toEqual([]);
  expect(Object.hasOwn(client.chat.completions, "create")).toBe(false);
  expect(agents.Runner.prototype.run.name).toBe("run");
  expect(client.chat.completions.create.name).toBe("create");
  expect(instrument(agents, { capture: false })).toBe(agents);
});
