import { createOpenAI } from "@ai-sdk/openai";
import { afterEach, describe, expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { Agl, Tokens } from "../../../src/protocol/semconv.ts";
import type { Fault } from "../../../src/testing/model-reply.ts";
import { type ModelServer, serveModel } from "../../../src/testing/model-server.ts";
import { behindProxy, record } from "../recorded.ts";
import { addTool, textOf } from "./scenario.ts";
import { type AnyModule, VERSIONS } from "./versions.ts";

let server: ModelServer | undefined;
afterEach(() => server?.close());

const SIX = VERSIONS[1]!;

/** A provider of the server's and the functions of one version. */
async function set(version = SIX, fault: Fault = {}) {
  const { ai, createProvider } = await version.load();
  const made = await serveModel({ reply: { content: "three plus four", chunkTokens: 2, fault } });
  server = made;
  const provider = createProvider({ name: "toy", baseURL: made.url, apiKey: "key" });
  return { ai, provider, server: made };
}

/** What the server generated for a request. */
function generated(of: ModelServer, index = 0) {
  const answer = of.requests[index]!.answer!;
  return { prompt: answer.promptIds, response: answer.choices[0]!.ids };
}

/** The parts of a stream that tell of tokens. */
async function usageOf(result: AnyModule): Promise<unknown> {
  const types: string[] = [];
  for await (const part of result.fullStream) types.push(part.type);
  expect(types).not.toContain("raw");
  return result.usage;
}

describe.each(VERSIONS)("ai $major", (version) => {
  test.each(["generate", "stream"] as const)("the ids of a training rollout: %s", async (kind) => {
    const { ai, provider, server } = await set(version);
    const our = instrument(ai);
    const run = async () =>
      kind === "generate"
        ? (await our.generateText({ model: provider("toy"), prompt: "3+4" })).text
        : textOf(our.streamText({ model: provider("toy"), prompt: "3+4" }).textStream);
    const { value, spans } = await record(run, "train");
    expect(value).toBe("three plus four");
    const { attributes } = spans[0]!;
    const { prompt, response } = generated(server);
    expect(attributes[Tokens.Prompt]).toEqual(prompt);
    expect(attributes[Tokens.Response]).toEqual(response);
    expect(JSON.parse(String(attributes[Tokens.Logprobs]))).toHaveLength(response.length);
    expect(attributes["gen_ai.usage.output_tokens"]).toBe(response.length);
    expect(attributes).not.toHaveProperty(Agl.TokenMismatch);
    expect(attributes["gen_ai.completion.0.content"]).toBe("three plus four");
    expect(attributes["gen_ai.prompt.0.content"]).toBe("3+4");
  });

  test("nothing is asked for outside training", async () => {
    const { ai, provider, server } = await set(version);
    await record(() => instrument(ai).generateText({ model: provider("toy"), prompt: "3+4" }), "val");
    expect(server.requests[0]!.body).toEqual({ model: "toy", messages: [{ role: "user", content: "3+4" }] });
  });

  test("the usage that only we have asked for stays hidden", async () => {
    const { ai, provider } = await set(version);
    const { value: bare } = {
      value: await usageOf(ai.streamText({ model: provider("toy"), prompt: "3+4" })),
    };
    const { value, spans } = await record(
      () => usageOf(instrument(ai).streamText({ model: provider("toy"), prompt: "3+4" })),
      "train",
    );
    expect(value).toEqual(bare);
    expect(spans[0]!.attributes["gen_ai.usage.output_tokens"]).toBeGreaterThan(0);
  });

  test.each(["generate", "stream"] as const)("a model behind a proxy is recorded once: %s", async (kind) => {
    const { ai, provider } = await set(version);
    const model = instrument(instrument(behindProxy(provider("toy"))));
    const { value, spans } = await record(
      async () =>
        kind === "generate"
          ? (await ai.generateText({ model, prompt: "3+4" })).text
          : textOf(ai.streamText({ model, prompt: "3+4" }).textStream),
      "train",
    );
    expect(value).toBe("three plus four");
    expect(spans.map(({ name }) => name)).toEqual(["openai.chat.completion"]);
    expect(spans[0]!.attributes).toHaveProperty(Tokens.Response);
  });

  test("a provider, a model and the module around the same call give one span", async () => {
    const { ai, provider } = await set(version);
    const ours = instrument(provider);
    const model = instrument(ours("toy"));
    expect(instrument(model)).toBe(model);
    expect(instrument(ours)).toBe(ours);
    const our = instrument(instrument(ai));
    const { spans } = await record(() => our.generateText({ model, prompt: "3+4" }), "train");
    expect(spans.map(({ name }) => name)).toEqual(["openai.chat.completion"]);
    expect(spans[0]!.attributes[Tokens.Response]).toHaveLength(
      Number(spans[0]!.attributes["gen_ai.usage.output_tokens"]),
    );
  });

  test("an instrumented provider serves bare functions", async () => {
    const { ai, provider } = await set(version);
    const ours = instrument(provider);
    for (const model of [ours("toy"), ours.chatModel("toy"), ours.languageModel("toy")]) {
      const { spans } = await record(() => ai.generateText({ model, prompt: "3+4" }), "train");
      expect(spans.map(({ name }) => name)).toEqual(["openai.chat.completion"]);
    }
    expect(ours.chatModel).toBe(ours.chatModel);
  });
});

test("ids that are missing in a stream are marked", async () => {
  const { ai, createProvider } = await SIX.load();
  server = await serveModel({
    reply: { toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }], fault: { swallowToolTokens: true } },
  });
  const provider = createProvider({ name: "toy", baseURL: server.url, apiKey: "key" });
  const tools = { add: { ...addTool(ai), execute: undefined } };
  const { spans, toolCalls } = await record(
    () => textOf(instrument(ai).streamText({ model: provider("toy"), prompt: "1+2", tools }).textStream),
    "train",
  );
  expect(spans[0]!.attributes[Agl.TokenMismatch]).toBe("choice 0 has 1 token ids and 37 log probabilities");
  expect(toolCalls.map(({ name }) => name)).toEqual(["tool_call.add"]);
});

describe("@ai-sdk/openai, which drops the options that it does not know", () => {
  test.each(["chat", "completion"] as const)("%s", async (api) => {
    const { ai, server } = await set();
    const openai = createOpenAI({ baseURL: server.url, apiKey: "key" });
    const our = instrument(ai);
    for (const index of [0, 1]) {
      const model = openai[api]("toy");
      const run = async () =>
        index === 0
          ? (await our.generateText({ model, prompt: "3+4" })).text
          : textOf(our.streamText({ model, prompt: "3+4" }).textStream);
      const { spans } = await record(run, "train");
      expect(spans.map(({ name }) => name)).toEqual(["openai.chat.completion"]);
      const { prompt, response } = generated(server, index);
      expect(spans[0]!.attributes[Tokens.Prompt]).toEqual(prompt);
      expect(spans[0]!.attributes[Tokens.Response]).toEqual(response);
    }
  });

  test("the Responses API, where no ids can be asked for", async () => {
    const { ai, server } = await set();
    const openai = createOpenAI({ baseURL: server.url, apiKey: "key" });
    const { spans } = await record(
      () => textOf(instrument(ai).streamText({ model: openai("toy"), prompt: "3+4" }).textStream),
      "train",
    );
    expect(spans).toHaveLength(1);
    expect(spans[0]!.attributes["gen_ai.completion.0.content"]).toBe("three plus four");
    expect(server.requests[0]!.body).not.toHaveProperty("return_token_ids");
  });
});

test.each([
  ["gives its response at once", (response: Response) => response],
  [
    "gives a response that is none",
    ({ status, ok, body, headers }: Response) =>
      Promise.resolve({
        status,
        ok,
        body,
        headers: {
          entries: () => headers.entries(),
          [Symbol.iterator]: () => headers[Symbol.iterator](),
          forEach: headers.forEach.bind(headers),
        },
      }),
  ],
])("a stand-in for the global fetch that %s", async (_name, make) => {
  const { ai, createProvider } = await SIX.load();
  const original = globalThis.fetch;
  const chunk = { id: "c", choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }] };
  const text = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
  const headers = { "content-type": "text/event-stream" };
  globalThis.fetch = (() => make(new Response(text, { headers }))) as unknown as typeof fetch;
  try {
    const model = createProvider({ name: "toy", baseURL: "http://toy.invalid" })("toy");
    const bare = await textOf(ai.streamText({ model, prompt: "Hi" }).textStream);
    const { value, outcomes, spans } = await record(() =>
      textOf(instrument(ai).streamText({ model, prompt: "Hi" }).textStream),
    );
    expect([bare, value]).toEqual(["Hello", "Hello"]);
    expect(outcomes).toEqual(["ok"]);
    expect(spans[0]!.attributes["gen_ai.completion.0.content"]).toBe("Hello");
  } finally {
    globalThis.fetch = original;
  }
});

test("a provider that does not use the global fetch is recorded from what it gives", async () => {
  const { ai, createProvider } = await SIX.load();
  const original = globalThis.fetch;
  const made = await serveModel({ reply: "seven" });
  server = made;
  const untapped = (original as unknown as Record<symbol, typeof fetch>)[Symbol.for("agentlightning.fetch")];
  const provider = createProvider({
    name: "toy",
    baseURL: made.url,
    apiKey: "key",
    fetch: untapped ?? original,
  });
  const { spans } = await record(
    () =>
      textOf(instrument(ai).streamText({ model: provider("toy"), prompt: "3+4", temperature: 0 }).textStream),
    "train",
  );
  expect(spans[0]!.attributes).toMatchObject({
    "gen_ai.request.model": "toy",
    "gen_ai.request.temperature": 0,
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": "3+4",
    "gen_ai.completion.0.content": "seven",
    "gen_ai.completion.0.finish_reason": "stop",
    [Agl.Outcome]: "ok",
  });
  expect(made.requests[0]!.body).not.toHaveProperty("return_token_ids");
});
