import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instrument } from "../../src/capture/instrument.ts";
import { createAnswer } from "../../src/capture/openai/answer.ts";
import { readChatChunk, readChatCompletion } from "../../src/capture/openai/chat-answer.ts";
import type { OpenAIOptions } from "../../src/capture/openai/settings.ts";
import { tokenMismatch } from "../../src/capture/openai/token-check.ts";
import { isHosted } from "../../src/capture/openai/token-request.ts";
import type { RolloutMode } from "../../src/protocol/rollout.ts";
import { serveModel } from "../../src/testing/model-server.ts";
import { record } from "./recorded.ts";
import { type AnyClient, BUILDS, chatHelpers } from "./versions.ts";
import { chat, delta, HELLO, usageChunk } from "./wire-samples.ts";
import { serveWire, type WireServer } from "./wire-server.ts";

let server: WireServer;
beforeAll(async () => {
  server = await serveWire();
});
afterAll(() => server.close());

const user = { role: "user", content: "Hi" };
const ask = { model: "toy", messages: [user] };
const builds = BUILDS.filter(({ name }) => name.includes("cjs"));

async function chunksOf(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const chunks: unknown[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

describe.each(builds)("$name", (build) => {
  const clientOf = async (options?: OpenAIOptions): Promise<AnyClient> => {
    const { OpenAI } = await build.load();
    return instrument(new OpenAI({ apiKey: "key", baseURL: server.url, maxRetries: 0 }), options);
  };

  /** The body that arrives for `body`. */
  async function sent(
    body: object,
    mode: RolloutMode | undefined,
    options?: OpenAIOptions,
  ): Promise<Record<string, unknown>> {
    const client = await clientOf(options);
    const requests = server.play({ json: chat({ content: "hi" }), headers: {} });
    await record(async () => client.chat.completions.create(body), mode);
    return JSON.parse(requests[0]!.body);
  }

  test("only a training rollout asks for token ids", async () => {
    expect(await sent(ask, "train")).toEqual({ ...ask, return_token_ids: true, logprobs: true });
    expect(await sent(ask, "val")).toEqual(ask);
    expect(await sent(ask, undefined)).toEqual(ask);
  });

  test("the option forces and forbids it", async () => {
    expect(await sent(ask, "train", { tokenIds: false })).toEqual(ask);
    expect(await sent(ask, "val", { tokenIds: true })).toEqual({
      ...ask,
      return_token_ids: true,
      logprobs: true,
    });
  });

  test("what the user has set stays, and the user's objects are not changed", async () => {
    const body = Object.freeze({ ...ask, return_token_ids: false, logprobs: false });
    expect(await sent(body, "train")).toEqual(body);
  });

  test("a stream is asked for its usage, which the consumer does not see", async () => {
    const client = await clientOf();
    const stream = [...HELLO, usageChunk(3, 4)];
    server.play({ sse: HELLO });
    const wanted = await chunksOf(await client.chat.completions.create({ ...ask, stream: true }));
    const requests = server.play({ sse: stream });
    const { value, spans } = await record(
      async () => chunksOf(await client.chat.completions.create({ ...ask, stream: true })),
      "train",
    );
    expect(JSON.parse(requests[0]!.body)).toEqual({
      ...ask,
      stream: true,
      return_token_ids: true,
      logprobs: true,
      stream_options: { include_usage: true },
    });
    expect(value).toEqual(wanted);
    expect(spans[0]!.attributes).toMatchObject({
      "gen_ai.usage.completion_tokens": 4,
      response_token_ids: [11, 12, 13, 14],
    });
    expect(spans[0]!.attributes).not.toHaveProperty(["agentlightning.tokens.mismatch"]);
  });

  test("a usage chunk that the user asked for stays", async () => {
    const client = await clientOf();
    server.play({ sse: [...HELLO, usageChunk(3, 4)] });
    const body = { ...ask, stream: true, stream_options: { include_usage: true } };
    const { value } = await record(async () => chunksOf(await client.chat.completions.create(body)), "train");
    expect(value.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 4 } });
  });

  test("the helpers work with what was added", async () => {
    const client = await clientOf();
    server.play({ sse: [...HELLO, usageChunk(3, 4)] });
    const { value } = await record(() => chatHelpers(client).stream(ask).finalContent(), "train");
    expect(value).toBe("Hello, you");
    server.play({ json: chat({ content: '{"a":1}' }) });
    const format = { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } };
    const parsed = await record(
      async () => chatHelpers(client).parse({ ...ask, response_format: format }),
      "train",
    );
    expect(parsed.value.choices[0].message.content).toBe('{"a":1}');
    expect(parsed.outcomes).toEqual(["ok"]);
  });

  test("ids and log probabilities of a model server, whole and streamed", async () => {
    const model = await serveModel({ reply: { content: "It is blue.", reasoning: "Colours." } });
    try {
      const { OpenAI } = await build.load();
      const client = instrument(new OpenAI({ apiKey: "key", baseURL: model.url }));
      for (const stream of [false, true]) {
        const { spans } = await record(async () => {
          const answer = await client.chat.completions.create({ ...ask, stream });
          if (stream) await chunksOf(answer);
        }, "train");
        const { promptIds, choices } = model.requests.at(-1)!.answer!;
        expect(spans[0]!.attributes).toMatchObject({
          prompt_token_ids: promptIds,
          response_token_ids: choices[0]!.ids,
          "logprobs.content": JSON.stringify(choices[0]!.logprobs),
          "gen_ai.completion.0.content": "It is blue.",
          "gen_ai.completion.0.reasoning": "Colours.",
        });
        expect(spans[0]!.attributes).not.toHaveProperty(["agentlightning.tokens.mismatch"]);
      }
    } finally {
      await model.close();
    }
  });

  test("a service that refuses unknown fields is not asked", async () => {
    const bodies: string[] = [];
    const { OpenAI } = await build.load();
    const fetch = async (_url: unknown, init: { body: string }) => {
      bodies.push(init.body);
      return new Response(JSON.stringify(chat({ content: "hi" })), {
        headers: { "content-type": "application/json" },
      });
    };
    const client = instrument(new OpenAI({ apiKey: "key", fetch }));
    const { spans } = await record(async () => client.chat.completions.create(ask), "train");
    expect(JSON.parse(bodies[0]!)).toEqual(ask);
    expect(spans[0]!.attributes).toMatchObject({ "server.address": "api.openai.com" });
  });
});

test("hosted services by the host of their URL", () => {
  const hosted = [
    "https://api.openai.com/v1",
    "https://eu.api.openai.com/v1",
    "https://me.openai.azure.com/openai",
    "https://me.services.ai.azure.com/x",
    "https://bedrock-mantle.us-east-1.api.aws/openai/v1",
    "https://api.mistral.ai/v1",
    "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1",
  ];
  expect(hosted.map(isHosted)).toEqual(hosted.map(() => true));
  const own = [
    "http://127.0.0.1:8000/v1",
    "https://api.openai.com.evil.test",
    "https://myapi.openai.com",
    "no url",
    "",
  ];
  expect(own.map(isHosted)).toEqual(own.map(() => false));
});

describe("token ids that do not add up", () => {
  const mismatch = (value: object) => {
    const answer = createAnswer();
    readChatCompletion(answer, value as Record<string, unknown>);
    return tokenMismatch(answer);
  };
  const entries = (count: number) => Array.from({ length: count }, () => ({ token: "a", logprob: -1 }));
  const choice = (ids: number[] | undefined, logprobs?: number, index = 0) => ({
    index,
    message: { role: "assistant", content: "x" },
    ...(ids === undefined ? {} : { token_ids: ids }),
    ...(logprobs === undefined ? {} : { logprobs: { content: entries(logprobs) } }),
  });

  test.each<[string, object, string | undefined]>([
    ["adds up", { choices: [choice([1, 2], 2)], usage: { completion_tokens: 2 } }, undefined],
    ["no ids at all", { choices: [choice(undefined)], usage: { completion_tokens: 2 } }, undefined],
    [
      "fewer than the usage",
      { choices: [choice([1])], usage: { completion_tokens: 2 } },
      "1 response token ids, but usage reports 2",
    ],
    ["odd usage", { choices: [choice([1])], usage: { completion_tokens: true } }, undefined],
    [
      "other log probabilities",
      { choices: [choice([1, 2], 1)] },
      "choice 0 has 2 token ids and 1 log probabilities",
    ],
    [
      "all choices together",
      { choices: [choice([1, 2]), choice([3], undefined, 1)], usage: { completion_tokens: 3 } },
      undefined,
    ],
    [
      "one choice without",
      { choices: [choice([1]), choice(undefined, undefined, 1)] },
      "1 of 2 choices have token ids",
    ],
    [
      "the second choice's log probabilities",
      { choices: [choice([1], 1), choice([1], 2, 1)] },
      "choice 1 has 1 token ids and 2 log probabilities",
    ],
    [
      "prompt ids",
      { prompt_token_ids: [1], choices: [], usage: { prompt_tokens: 2 } },
      "1 prompt token ids, but usage reports 2",
    ],
  ])("%s", (_name, value, wanted) => expect(mismatch(value)).toBe(wanted));

  test("a stream that swallows the ids of a tool call", () => {
    const answer = createAnswer();
    for (const chunk of [
      delta({ role: "assistant" }, { token_ids: [1] }),
      delta({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "{}" } }] }),
      usageChunk(3, 5),
    ]) {
      readChatChunk(answer, chunk as Record<string, unknown>);
    }
    expect(tokenMismatch(answer)).toBe("1 response token ids, but usage reports 5");
  });
});

describe("where servers put token ids", () => {
  const read = (value: object) => {
    const answer = createAnswer();
    readChatCompletion(answer, value as Record<string, unknown>);
    return { prompt: answer.promptTokenIds, response: answer.choices.get(0)?.tokenIds };
  };
  const message = { role: "assistant", content: "x" };

  test.each<[string, object, { prompt: number[] | undefined; response: number[] | undefined }]>([
    [
      "vLLM",
      { prompt_token_ids: [1], choices: [{ message, token_ids: [2] }] },
      { prompt: [1], response: [2] },
    ],
    [
      "SGLang",
      { choices: [{ message, prompt_token_ids: [1], token_ids: [2] }] },
      { prompt: [1], response: [2] },
    ],
    [
      "LiteLLM",
      { prompt_token_ids: [1], choices: [{ message, provider_specific_fields: { token_ids: [2] } }] },
      { prompt: [1], response: [2] },
    ],
    [
      "patched vLLM",
      { prompt_token_ids: [1], response_token_ids: [[2], [3]], choices: [{ message }] },
      { prompt: [1], response: [2] },
    ],
    [
      "none, or nonsense",
      { prompt_token_ids: "x", choices: [{ message, token_ids: [1, "2"] }] },
      { prompt: undefined, response: undefined },
    ],
  ])("%s", (_name, value, wanted) => expect(read(value)).toEqual(wanted));
});
