import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instrument } from "../../src/capture/instrument.ts";
import { record } from "./recorded.ts";
import { type AnyClient, BUILDS, type Build, chatHelpers } from "./versions.ts";
import {
  chat,
  delta,
  HELLO,
  logprob,
  PARALLEL_CALLS,
  response,
  responseEvents,
  usageChunk,
} from "./wire-samples.ts";
import { serveWire, type WireScript, type WireServer } from "./wire-server.ts";

let server: WireServer;
beforeAll(async () => {
  server = await serveWire();
});
afterAll(() => server.close());

/** Attributes of the only span of `use`, without those of the rollout. */
async function captured(
  build: Build,
  reply: WireScript,
  use: (client: AnyClient) => Promise<unknown>,
): Promise<Record<string, unknown>> {
  const { OpenAI } = await build.load();
  const client = instrument(new OpenAI({ apiKey: "key", baseURL: server.url, maxRetries: 0 }));
  server.play(reply);
  const { spans } = await record(() => use(client));
  expect(spans).toHaveLength(1);
  const attributes = { ...spans[0]!.attributes };
  for (const name of ["rollout_id", "attempt_id"]) delete attributes[`agentlightning.${name}`];
  for (const name of ["server.address", "server.port", "gen_ai.provider.name", "gen_ai.system"]) {
    delete attributes[name];
  }
  return attributes;
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

const builds = BUILDS.filter(({ name }) => name.includes("cjs"));
const user = { role: "user", content: "Hi" };

describe.each(builds)("$name", (build) => {
  test("a conversation with tools and images", async () => {
    const parts = [
      { type: "text", text: "What is it?" },
      { type: "image_url", image_url: { url: "https://a.test/x.png" } },
    ];
    const body = {
      model: "toy",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: parts, name: "ann" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c0", type: "function", function: { name: "look", arguments: '{"x":1}' } }],
        },
        { role: "tool", content: "a cat", tool_call_id: "c0" },
      ],
      tools: [
        {
          type: "function",
          function: { name: "look", description: "looks", parameters: { type: "object" } },
        },
        { type: "function", function: { name: "stop" } },
      ],
      temperature: 0.5,
      max_completion_tokens: 20,
      stop: "END",
      n: 2,
      seed: 7,
      tool_choice: { type: "function", function: { name: "look" } },
    };
    const attributes = await captured(
      build,
      { json: { ...chat({ content: "A cat." }, { refusal: "No." }), system_fingerprint: "fp" } },
      (client) => client.chat.completions.create(body),
    );
    expect(attributes).toEqual({
      "agentlightning.outcome": "ok",
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "toy",
      "gen_ai.request.temperature": 0.5,
      "gen_ai.request.max_tokens": 20,
      "gen_ai.request.stop_sequences": ["END"],
      "gen_ai.request.choice.count": 2,
      "gen_ai.request.seed": 7,
      "gen_ai.request.tool_choice": JSON.stringify(body.tool_choice),
      "gen_ai.request.functions.0.name": "look",
      "gen_ai.request.functions.0.description": "looks",
      "gen_ai.request.functions.0.parameters": '{"type":"object"}',
      "gen_ai.request.functions.1.name": "stop",
      "gen_ai.request.functions.1.parameters": "{}",
      "gen_ai.prompt.0.role": "system",
      "gen_ai.prompt.0.content": "Be brief.",
      "gen_ai.prompt.1.role": "user",
      "gen_ai.prompt.1.content": JSON.stringify(parts),
      "gen_ai.prompt.1.name": "ann",
      "gen_ai.prompt.2.role": "assistant",
      "gen_ai.prompt.2.tool_calls.0.id": "c0",
      "gen_ai.prompt.2.tool_calls.0.name": "look",
      "gen_ai.prompt.2.tool_calls.0.arguments": '{"x":1}',
      "gen_ai.prompt.3.role": "tool",
      "gen_ai.prompt.3.content": "a cat",
      "gen_ai.prompt.3.tool_call_id": "c0",
      "gen_ai.response.id": "chatcmpl-1",
      "gen_ai.response.model": "toy",
      "gen_ai.response.finish_reasons": ["stop", "stop"],
      "openai.response.system_fingerprint": "fp",
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.prompt_tokens": 3,
      "gen_ai.usage.output_tokens": 4,
      "gen_ai.usage.completion_tokens": 4,
      "gen_ai.usage.total_tokens": 7,
      prompt_token_ids: [1, 2, 3],
      response_token_ids: [10, 20],
      "logprobs.content": JSON.stringify([logprob("a", -0.5), logprob("b", -0.25)]),
      "gen_ai.completion.0.role": "assistant",
      "gen_ai.completion.0.content": "A cat.",
      "gen_ai.completion.0.finish_reason": "stop",
      "gen_ai.completion.1.role": "assistant",
      "gen_ai.completion.1.refusal": "No.",
      "gen_ai.completion.1.finish_reason": "stop",
      "gen_ai.completion.1.token_ids": [11, 21],
      "gen_ai.completion.1.logprobs": JSON.stringify([logprob("a", -0.5), logprob("b", -0.25)]),
    });
  });

  test("a stream gives the same as the whole answer would", async () => {
    const attributes = await captured(build, { sse: [...HELLO, usageChunk(3, 4)] }, async (client) =>
      drain(
        await client.chat.completions.create({
          model: "toy",
          messages: [user],
          stream: true,
          stream_options: { include_usage: true },
        }),
      ),
    );
    expect(attributes).toEqual({
      "agentlightning.outcome": "ok",
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "toy",
      "gen_ai.request.stream": true,
      "gen_ai.request.stream_options": '{"include_usage":true}',
      "gen_ai.prompt.0.role": "user",
      "gen_ai.prompt.0.content": "Hi",
      "gen_ai.response.id": "chatcmpl-1",
      "gen_ai.response.model": "toy",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.prompt_tokens": 3,
      "gen_ai.usage.output_tokens": 4,
      "gen_ai.usage.completion_tokens": 4,
      "gen_ai.usage.total_tokens": 7,
      prompt_token_ids: [1, 2, 3],
      response_token_ids: [11, 12, 13, 14],
      "logprobs.content": JSON.stringify([
        logprob("Hello", -0.5),
        logprob(",", -1),
        logprob(" you", -2),
        logprob("", -0.125),
      ]),
      "gen_ai.completion.0.role": "assistant",
      "gen_ai.completion.0.content": "Hello, you",
      "gen_ai.completion.0.finish_reason": "stop",
    });
  });

  test("token ids of the helper stream, whose own snapshot loses them", async () => {
    const attributes = await captured(build, { sse: HELLO }, (client) =>
      chatHelpers(client)
        .stream({ model: "toy", messages: [user] })
        .finalChatCompletion(),
    );
    expect(attributes).toMatchObject({
      "agentlightning.helper": "stream",
      prompt_token_ids: [1, 2, 3],
      response_token_ids: [11, 12, 13, 14],
    });
  });

  test("streamed tool calls by index", async () => {
    const attributes = await captured(build, { sse: PARALLEL_CALLS }, async (client) =>
      drain(await client.chat.completions.create({ model: "toy", messages: [user], stream: true })),
    );
    expect(attributes).toMatchObject({
      "gen_ai.completion.0.finish_reason": "tool_calls",
      "gen_ai.completion.0.tool_calls.0.id": "c0",
      "gen_ai.completion.0.tool_calls.0.type": "function",
      "gen_ai.completion.0.tool_calls.0.name": "f",
      "gen_ai.completion.0.tool_calls.0.arguments": '{"q":1}',
      "gen_ai.completion.0.tool_calls.1.id": "c1",
      "gen_ai.completion.0.tool_calls.1.name": "g",
      "gen_ai.completion.0.tool_calls.1.arguments": '{"z":2}',
    });
    expect(attributes).not.toHaveProperty(["gen_ai.completion.0.content"]);
  });

  test("what the caller changes right after the answer is not recorded", async () => {
    const messages = [{ ...user }];
    const attributes = await captured(build, { json: chat({ content: "hi" }) }, async (client) => {
      const answer = await client.chat.completions.create({ model: "toy", messages });
      messages[0]!.content = "changed";
      messages.push({ role: "user", content: "more" });
      answer.id = "changed";
      answer.prompt_token_ids.push(99);
      answer.choices[0].token_ids.length = 0;
      answer.choices[0].message.content = "changed";
      answer.choices[0].logprobs.content[0].token = "changed";
      answer.choices.length = 0;
    });
    expect(attributes).toMatchObject({
      "gen_ai.prompt.0.content": "Hi",
      "gen_ai.response.id": "chatcmpl-1",
      "gen_ai.completion.0.content": "hi",
      prompt_token_ids: [1, 2, 3],
      response_token_ids: [10, 20],
      "logprobs.content": JSON.stringify([logprob("a", -0.5), logprob("b", -0.25)]),
    });
    expect(attributes).not.toHaveProperty(["gen_ai.prompt.1.role"]);
  });

  test("a stream left early keeps what had arrived", async () => {
    const reply = { sse: [...HELLO.slice(0, 3), () => new Promise<void>(() => {})] };
    const attributes = await captured(build, reply, async (client) => {
      const stream = await client.chat.completions.create({ model: "toy", messages: [user], stream: true });
      for await (const chunk of stream) if (chunk.choices[0].delta.content === ", you") break;
    });
    expect(attributes).toMatchObject({
      "agentlightning.outcome": "cancelled",
      "gen_ai.completion.0.content": "Hello, you",
      response_token_ids: [11, 12, 13],
    });
  });

  test("an error's class, status and request id", async () => {
    const reply = { status: 429, json: { error: { message: "slow down", code: "rate_limited" } } };
    const attributes = await captured(build, reply, (client) =>
      client.chat.completions.create({ model: "toy", messages: [user] }).catch(() => undefined),
    );
    expect(attributes).toMatchObject({
      "agentlightning.outcome": "error",
      "error.type": "RateLimitError",
      "http.response.status_code": 429,
      "openai.error.code": "rate_limited",
      "openai.request.id": "req_1",
      "gen_ai.prompt.0.content": "Hi",
    });
  });

  test("a response with reasoning, a function call and instructions", async () => {
    const output = [
      { id: "rs", type: "reasoning", summary: [{ type: "summary_text", text: "Think." }] },
      ...((response("Sure.") as { output: object[] }).output as object[]),
      {
        id: "fc",
        type: "function_call",
        call_id: "c0",
        name: "add",
        arguments: '{"a":1}',
        status: "completed",
      },
    ];
    const attributes = await captured(build, { json: response("", { output }) }, (client) =>
      client.responses.create({
        model: "toy",
        instructions: "Be brief.",
        max_output_tokens: 9,
        input: [
          user,
          { type: "function_call", call_id: "b0", name: "add", arguments: "{}" },
          { type: "function_call_output", call_id: "b0", output: "3" },
        ],
        tools: [{ type: "function", name: "add", parameters: { type: "object" } }, { type: "web_search" }],
      }),
    );
    expect(attributes).toEqual({
      "agentlightning.outcome": "ok",
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "toy",
      "gen_ai.request.max_tokens": 9,
      "gen_ai.request.functions.0.name": "add",
      "gen_ai.request.functions.0.parameters": '{"type":"object"}',
      "gen_ai.request.functions.1.name": "web_search",
      "gen_ai.request.functions.1.parameters": "{}",
      "gen_ai.prompt.0.role": "system",
      "gen_ai.prompt.0.content": "Be brief.",
      "gen_ai.prompt.1.role": "user",
      "gen_ai.prompt.1.content": "Hi",
      "gen_ai.prompt.2.role": "assistant",
      "gen_ai.prompt.2.tool_calls.0.id": "b0",
      "gen_ai.prompt.2.tool_calls.0.name": "add",
      "gen_ai.prompt.2.tool_calls.0.arguments": "{}",
      "gen_ai.prompt.3.role": "tool",
      "gen_ai.prompt.3.content": "3",
      "gen_ai.prompt.3.tool_call_id": "b0",
      "gen_ai.response.id": "resp_1",
      "gen_ai.response.model": "toy",
      "gen_ai.response.finish_reasons": ["tool_calls"],
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.prompt_tokens": 3,
      "gen_ai.usage.output_tokens": 2,
      "gen_ai.usage.completion_tokens": 2,
      "gen_ai.usage.total_tokens": 5,
      "gen_ai.completion.0.role": "assistant",
      "gen_ai.completion.0.content": "Sure.",
      "gen_ai.completion.0.reasoning": "Think.",
      "gen_ai.completion.0.finish_reason": "tool_calls",
      "gen_ai.completion.0.tool_calls.0.id": "c0",
      "gen_ai.completion.0.tool_calls.0.type": "function",
      "gen_ai.completion.0.tool_calls.0.name": "add",
      "gen_ai.completion.0.tool_calls.0.arguments": '{"a":1}',
    });
  });

  test("a response stream, whole and cut", async () => {
    const stream = async (client: AnyClient) =>
      drain(await client.responses.create({ model: "toy", input: "Hi", stream: true }));
    expect(await captured(build, { sse: responseEvents() }, stream)).toMatchObject({
      "gen_ai.prompt.0.content": "Hi",
      "gen_ai.completion.0.content": "Hello, you",
      "gen_ai.usage.output_tokens": 2,
      "agentlightning.outcome": "ok",
    });
    const calls = [
      { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "Think." },
      {
        type: "response.output_item.added",
        output_index: 1,
        item: { type: "function_call", id: "fc", call_id: "c0", name: "add", arguments: "" },
      },
      { type: "response.function_call_arguments.delta", output_index: 1, delta: '{"a"' },
      { type: "response.function_call_arguments.delta", output_index: 1, delta: ":1}" },
    ];
    expect(await captured(build, { sse: [responseEvents()[0]!, ...calls] }, stream)).toMatchObject({
      "gen_ai.response.id": "resp_1",
      "gen_ai.completion.0.reasoning": "Think.",
      "gen_ai.completion.0.tool_calls.0.id": "c0",
      "gen_ai.completion.0.tool_calls.0.arguments": '{"a":1}',
      "agentlightning.outcome": "incomplete",
    });
  });

  test("a text completion with its own form of log probabilities", async () => {
    const json = {
      id: "cmpl-1",
      model: "toy",
      choices: [
        {
          index: 0,
          text: "hi",
          finish_reason: "stop",
          prompt_token_ids: [5, 6],
          token_ids: [7],
          logprobs: {
            tokens: ["hi"],
            token_logprobs: [-0.5],
            top_logprobs: [{ hi: -0.5 }],
            text_offset: [0],
          },
        },
      ],
      usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 },
    };
    const attributes = await captured(build, { json }, (client) =>
      client.completions.create({ model: "toy", prompt: "Say hi" }),
    );
    expect(attributes).toMatchObject({
      "gen_ai.operation.name": "text_completion",
      "gen_ai.prompt.0.role": "user",
      "gen_ai.prompt.0.content": "Say hi",
      "gen_ai.completion.0.content": "hi",
      prompt_token_ids: [5, 6],
      response_token_ids: [7],
      "logprobs.content": JSON.stringify([
        {
          token: "hi",
          logprob: -0.5,
          bytes: null,
          top_logprobs: [{ token: "hi", logprob: -0.5, bytes: null }],
        },
      ]),
    });
  });

  test("both names of reasoning, in pieces", async () => {
    for (const field of ["reasoning", "reasoning_content"]) {
      const sse = [
        delta({ role: "assistant", [field]: "Let me " }),
        delta({ [field]: "think." }),
        delta({ content: "42" }, { finish_reason: "stop" }),
      ];
      const attributes = await captured(build, { sse }, async (client) =>
        drain(await client.chat.completions.create({ model: "toy", messages: [user], stream: true })),
      );
      expect(attributes).toMatchObject({
        "gen_ai.completion.0.reasoning": "Let me think.",
        "gen_ai.completion.0.content": "42",
      });
    }
  });

  test("an embeddings call is a span of its own kind, without the texts and vectors", async () => {
    const json = {
      model: "toy",
      data: [{ index: 0, embedding: [1] }],
      usage: { prompt_tokens: 2, total_tokens: 2 },
    };
    const attributes = await captured(build, { json }, (client) =>
      client.embeddings.create({ model: "toy", input: "a", encoding_format: "float", dimensions: 1 }),
    );
    expect(attributes).toEqual({
      "agentlightning.outcome": "ok",
      "gen_ai.operation.name": "embeddings",
      "gen_ai.request.model": "toy",
      "gen_ai.request.encoding_format": "float",
      "gen_ai.embeddings.dimension.count": 1,
      "gen_ai.response.model": "toy",
      "gen_ai.response.embeddings": 1,
      "gen_ai.usage.input_tokens": 2,
      "gen_ai.usage.prompt_tokens": 2,
      "gen_ai.usage.total_tokens": 2,
    });
  });
});
