import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { record } from "../recorded.ts";
import type { AnyClient } from "../versions.ts";
import { serveWire, type WireScript, type WireServer } from "../wire-server.ts";
import { BUILDS, type Build } from "./versions.ts";
import {
  block,
  end,
  event,
  HELLO,
  message,
  START,
  text,
  textBlock,
  toolBlock,
  toolUse,
} from "./wire-samples.ts";

let server: WireServer;
beforeAll(async () => {
  server = await serveWire();
});
afterAll(() => server.close());

const origin = () => server.url.slice(0, -"/v1".length);

/** Attributes of the only span of `use` that `pick` names, and of its tool calls. */
async function captured(
  build: Build,
  reply: WireScript,
  use: (client: AnyClient) => Promise<unknown>,
  pick = /^(?!agentlightning\.(rollout|attempt)_id|server\.)/,
) {
  const { Anthropic } = await build.load();
  const client = instrument(
    new Anthropic({ apiKey: "key", baseURL: origin(), maxRetries: 0, logLevel: "off" }),
  );
  server.play(reply);
  const { spans, toolCalls } = await record(() => use(client));
  expect(spans).toHaveLength(1);
  const kept = Object.entries(spans[0]!.attributes).filter(([name]) => pick.test(name));
  const calls = toolCalls.map(({ name, attributes: a, parentSpanContext }) => {
    expect(parentSpanContext?.spanId).toBe(spans[0]!.spanContext().spanId);
    return [name, a["tool.name"], a["tool.parameters"], a["tool.call.id"], a["tool.call.type"]];
  });
  return { attributes: Object.fromEntries(kept), calls };
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

const ASK = { model: "claude-test", max_tokens: 64, messages: [{ role: "user", content: "Hi" }] };
const builds = BUILDS.filter(({ name }) => name.includes("cjs"));
const COMPLETION = /^gen_ai\.(completion|response|usage)|^anthropic|token_ids|outcome|logprobs|mismatch/;

describe.each(builds)("$name", (build) => {
  test("a conversation with tools, thinking and images", async () => {
    const image = { type: "image", source: { type: "url", url: "https://a.test/x.png" } };
    const body = {
      ...ASK,
      system: [
        { type: "text", text: "Be " },
        { type: "text", text: "brief.", cache_control: { type: "ephemeral" } },
      ],
      messages: [
        { role: "user", content: [{ type: "text", text: "What is it?" }, image] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Look. ", signature: "s" },
            { type: "redacted_thinking", data: "xx" },
            { type: "thinking", thinking: "Then say.", signature: "s" },
            text("Let me look."),
            toolUse("t0", { x: 1 }, "look"),
            { type: "server_tool_use", id: "t1", name: "web_search", input: { query: "cat" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t0", content: [text("a "), text("cat")] },
            { type: "tool_result", tool_use_id: "t2", is_error: true, content: "no" },
            { type: "tool_result", tool_use_id: "t3" },
            text("So?"),
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t4", content: [image] }] },
        { role: "assistant", content: "It is" },
      ],
      tools: [
        { name: "look", description: "looks", input_schema: { type: "object" } },
        { type: "web_search_20250305", name: "web_search", max_uses: 2 },
      ],
      tool_choice: { type: "auto" },
      temperature: 0.5,
      top_k: 5,
      stop_sequences: ["END"],
      metadata: { user_id: "u" },
      thinking: { type: "enabled", budget_tokens: 1024 },
    };
    const reply = {
      headers: { "request-id": "req_a" },
      json: message(
        [
          { type: "thinking", thinking: "Hm.", signature: "s" },
          text("A "),
          text("cat."),
          toolUse("t5", { a: 1, b: [2] }),
          toolUse("t6", {}, "stop"),
        ],
        { stop_reason: "tool_use" },
      ),
    };
    const { attributes, calls } = await captured(build, reply, (client) => client.messages.create(body));
    expect(attributes).toEqual({
      "agentlightning.outcome": "ok",
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.system": "anthropic",
      "gen_ai.request.model": "claude-test",
      "gen_ai.request.max_tokens": 64,
      "gen_ai.request.temperature": 0.5,
      "gen_ai.request.top_k": 5,
      "gen_ai.request.stop_sequences": ["END"],
      "gen_ai.request.metadata": '{"user_id":"u"}',
      "gen_ai.request.thinking": '{"type":"enabled","budget_tokens":1024}',
      "gen_ai.request.tool_choice": '{"type":"auto"}',
      "gen_ai.request.functions.0.name": "look",
      "gen_ai.request.functions.0.description": "looks",
      "gen_ai.request.functions.0.parameters": '{"type":"object"}',
      "gen_ai.request.functions.1.name": "web_search",
      "gen_ai.request.functions.1.parameters": "{}",
      "gen_ai.prompt.0.role": "system",
      "gen_ai.prompt.0.content": "Be brief.",
      "gen_ai.prompt.1.role": "user",
      "gen_ai.prompt.1.content": JSON.stringify([{ type: "text", text: "What is it?" }, image]),
      "gen_ai.prompt.2.role": "assistant",
      "gen_ai.prompt.2.content": "Let me look.",
      "gen_ai.prompt.2.reasoning": "Look. Then say.",
      "gen_ai.prompt.2.tool_calls.0.id": "t0",
      "gen_ai.prompt.2.tool_calls.0.name": "look",
      "gen_ai.prompt.2.tool_calls.0.arguments": '{"x":1}',
      "gen_ai.prompt.2.tool_calls.1.id": "t1",
      "gen_ai.prompt.2.tool_calls.1.name": "web_search",
      "gen_ai.prompt.2.tool_calls.1.arguments": '{"query":"cat"}',
      "gen_ai.prompt.3.role": "tool",
      "gen_ai.prompt.3.tool_call_id": "t0",
      "gen_ai.prompt.3.content": "a cat",
      "gen_ai.prompt.4.role": "tool",
      "gen_ai.prompt.4.tool_call_id": "t2",
      "gen_ai.prompt.4.content": "no",
      "gen_ai.prompt.4.is_error": true,
      "gen_ai.prompt.5.role": "tool",
      "gen_ai.prompt.5.tool_call_id": "t3",
      "gen_ai.prompt.5.content": "",
      "gen_ai.prompt.6.role": "user",
      "gen_ai.prompt.6.content": "So?",
      "gen_ai.prompt.7.role": "tool",
      "gen_ai.prompt.7.tool_call_id": "t4",
      "gen_ai.prompt.7.content": JSON.stringify([image]),
      "gen_ai.prompt.8.role": "assistant",
      "gen_ai.prompt.8.content": "It is",
      "gen_ai.response.id": "msg_1",
      "gen_ai.response.model": "claude-test",
      "gen_ai.response.finish_reasons": ["tool_calls"],
      "anthropic.response.stop_reason": "tool_use",
      "anthropic.response.service_tier": "standard",
      "gen_ai.usage.input_tokens": 113,
      "gen_ai.usage.prompt_tokens": 113,
      "gen_ai.usage.output_tokens": 2,
      "gen_ai.usage.completion_tokens": 2,
      "gen_ai.usage.cache_read.input_tokens": 100,
      "gen_ai.usage.cache_creation.input_tokens": 10,
      "gen_ai.completion.0.role": "assistant",
      "gen_ai.completion.0.content": "A cat.",
      "gen_ai.completion.0.reasoning": "Hm.",
      "gen_ai.completion.0.finish_reason": "tool_calls",
      "gen_ai.completion.0.tool_calls.0.id": "t5",
      "gen_ai.completion.0.tool_calls.0.type": "function",
      "gen_ai.completion.0.tool_calls.0.name": "add",
      "gen_ai.completion.0.tool_calls.0.arguments": '{"a":1,"b":[2]}',
      "gen_ai.completion.0.tool_calls.1.id": "t6",
      "gen_ai.completion.0.tool_calls.1.type": "function",
      "gen_ai.completion.0.tool_calls.1.name": "stop",
      "gen_ai.completion.0.tool_calls.1.arguments": "{}",
    });
    expect(calls).toEqual([
      ["tool_call.add", "add", '{"a":1,"b":[2]}', "t5", "function"],
      ["tool_call.stop", "stop", "{}", "t6", "function"],
    ]);
  });

  test("a stream gives the same as the whole answer, and names its helper", async () => {
    const usage = { output_tokens: 2, output_tokens_details: { thinking_tokens: 1 } };
    const whole = message(
      [
        { type: "thinking", thinking: "Hm.", signature: "s" },
        text("Hello"),
        toolUse("t1", { a: 1 }),
        toolUse("t2", {}, "stop"),
      ],
      { stop_reason: "tool_use", usage: { ...USAGE_OF_START, ...usage } },
    );
    const sse = [
      ...START,
      ...block(0, { type: "thinking", thinking: "", signature: "" }, [
        { type: "thinking_delta", thinking: "H" },
        { type: "thinking_delta", thinking: "m." },
        { type: "signature_delta", signature: "s" },
      ]),
      ...textBlock(1, "Hel", "lo"),
      ...toolBlock(2, "t1", '{"a"', ":1}"),
      ...block(3, toolUse("t2", {}, "stop"), []),
      ...end("tool_use", { usage }),
    ];
    const create = await captured(
      build,
      { json: whole },
      (client) => client.messages.create(ASK),
      COMPLETION,
    );
    const stream = async (client: AnyClient) => drain(await client.messages.create({ ...ASK, stream: true }));
    expect(await captured(build, { sse }, stream, COMPLETION)).toEqual(create);
    expect(create.attributes["gen_ai.usage.reasoning_tokens"]).toBe(1);
    expect(create.calls.map(([name]) => name)).toEqual(["tool_call.add", "tool_call.stop"]);
    for (const pick of [(c: AnyClient) => c.messages, (c: AnyClient) => c.beta.messages]) {
      const helper = (client: AnyClient) => pick(client).stream(ASK).finalMessage();
      const all = await captured(build, { sse }, helper);
      expect(all.calls).toEqual(create.calls);
      expect(all.attributes).toMatchObject({ ...create.attributes, "agentlightning.helper": "stream" });
      expect(all.attributes["gen_ai.request.stream"]).toBe(true);
    }
  });

  test.each([
    ["end_turn", "stop", "ok"],
    ["stop_sequence", "stop", "ok"],
    ["max_tokens", "length", "truncated"],
    ["model_context_window_exceeded", "length", "truncated"],
    ["refusal", "content_filter", "ok"],
    ["pause_turn", "pause_turn", "ok"],
  ])("stop reason %s", async (reason, finish, outcome) => {
    const json = message([text("x")], { stop_reason: reason, stop_sequence: "END" });
    const { attributes } = await captured(build, { json }, (c) => c.messages.create(ASK), COMPLETION);
    expect(attributes).toMatchObject({
      "agentlightning.outcome": outcome,
      "gen_ai.completion.0.finish_reason": finish,
      "anthropic.response.stop_reason": reason,
      "anthropic.response.stop_sequence": "END",
    });
  });

  test("token ids and log probabilities of a server that gives them are kept and checked", async () => {
    const usage = { input_tokens: 3, output_tokens: 2 };
    const logprobs = {
      content: [
        { token: "a", logprob: -1 },
        { token: "b", logprob: -2 },
      ],
    };
    const ids = { prompt_token_ids: [1, 2, 3], token_ids: [4, 5] };
    const json = message([text("ab")], { usage, ...ids, logprobs });
    const ask = (client: AnyClient) => client.messages.create({ ...ASK, return_token_ids: true });
    const whole = await captured(build, { json }, ask, /token_ids$|^logprobs|mismatch/);
    expect(whole.attributes).toEqual({
      "gen_ai.request.return_token_ids": true,
      prompt_token_ids: [1, 2, 3],
      response_token_ids: [4, 5],
      "logprobs.content": JSON.stringify(logprobs.content),
    });
    const delta = (index: number, piece: string, more: object) =>
      event({ type: "content_block_delta", index, delta: { type: "text_delta", text: piece }, ...more });
    const sse = [
      event({
        type: "message_start",
        message: message([], {
          stop_reason: null,
          usage: { input_tokens: 3, output_tokens: 0 },
          prompt_token_ids: [1, 2, 3],
        }),
      }),
      event({ type: "content_block_start", index: 0, content_block: text("") }),
      delta(0, "a", { token_ids: [4], logprobs: { content: logprobs.content.slice(0, 1) } }),
      delta(0, "b", { token_ids: [5], logprobs: { content: logprobs.content.slice(1) } }),
      event({ type: "content_block_stop", index: 0 }),
      ...end("end_turn", { usage }),
    ];
    const read = async (client: AnyClient) =>
      drain(await client.messages.create({ ...ASK, return_token_ids: true, stream: true }));
    const streamed = await captured(build, { sse }, read, /token_ids$|^logprobs|mismatch/);
    expect(streamed.attributes).toEqual(whole.attributes);
    const wrong = message([text("ab")], { usage: { input_tokens: 3, output_tokens: 9 }, ...ids });
    const marked = await captured(build, { json: wrong }, ask, /mismatch/);
    expect(marked.attributes).toEqual({
      "agentlightning.tokens.mismatch": "2 response token ids, but usage reports 9",
    });
  });

  test("nothing is added to a request, in training neither, and what is secret is not recorded", async () => {
    const { Anthropic } = await build.load();
    const client = instrument(new Anthropic({ apiKey: "key", baseURL: origin() }), { tokenIds: true });
    const requests = server.play({ json: message([text("x")]) });
    const servers = [{ type: "url", url: "https://m.test", name: "m", authorization_token: "secret" }];
    const { spans } = await record(
      () => client.beta.messages.create({ ...ASK, betas: ["b-1"], mcp_servers: servers }),
      "train",
    );
    expect(JSON.parse(requests[0]!.body)).toEqual({ ...ASK, mcp_servers: servers });
    expect(JSON.stringify(spans[0]!.attributes)).not.toContain("secret");
    expect(spans[0]!.attributes).not.toHaveProperty("gen_ai.request.betas");
  });

  test("what the server says of a failure", async () => {
    const refused = {
      status: 529,
      headers: { "request-id": "req_9" },
      json: { type: "error", error: { type: "overloaded_error", message: "later" } },
    };
    const fail = (client: AnyClient) => client.messages.create(ASK).catch(() => undefined);
    const { attributes } = await captured(build, refused, fail, /^(error|http|anthropic)\b|outcome/);
    expect(attributes).toEqual({
      "agentlightning.outcome": "error",
      "error.type": build.major === 1 ? "OverloadedError" : "InternalServerError",
      "http.response.status_code": 529,
      "anthropic.error.code": "overloaded_error",
      "anthropic.request.id": "req_9",
    });
  });

  test.each([
    ["no object", "text"],
    ["no blocks", message([], { content: null })],
    [
      "odd blocks",
      message([null, 7, { type: "text", text: 7 }, { type: "tool_use" }] as object[], { usage: "much" }),
    ],
    ["an empty object", {}],
  ])("an answer with %s is recorded as far as it goes", async (_, json) => {
    const { attributes } = await captured(build, { json }, (c) => c.messages.create(ASK), /capture|outcome/);
    expect(attributes).toEqual({ "agentlightning.outcome": "ok" });
  });

  test("an odd request is recorded as far as it goes", async () => {
    const body = {
      model: "claude-test",
      messages: [{ role: "user", content: 7 }, { content: [{}] }],
      tools: [{}],
    };
    const { attributes } = await captured(
      build,
      { json: message([text("x")]) },
      (client) => client.messages.create({ ...body, max_tokens: 1 }),
      /prompt|capture/,
    );
    expect(attributes).toEqual({
      "gen_ai.prompt.0.role": "user",
      "gen_ai.prompt.0.content": "",
      "gen_ai.prompt.1.content": "[{}]",
      "gen_ai.usage.prompt_tokens": 113,
    });
  });

  test("events in an odd order are recorded as far as they go", async () => {
    const sse = [
      event({
        type: "content_block_delta",
        index: 3,
        delta: { type: "input_json_delta", partial_json: "{}" },
      }),
      event({ type: "content_block_stop", index: 9 }),
      event({ type: "news" }),
      ...HELLO,
    ];
    const read = async (client: AnyClient) => drain(await client.messages.create({ ...ASK, stream: true }));
    const { attributes } = await captured(build, { sse }, read, /completion\.0\.content|capture|outcome/);
    expect(attributes).toEqual({ "agentlightning.outcome": "ok", "gen_ai.completion.0.content": "Hello" });
  });
});

/** What a stream's opening has told of the usage before its end does. */
const USAGE_OF_START = {
  input_tokens: 3,
  cache_creation_input_tokens: 10,
  cache_read_input_tokens: 100,
  service_tier: "standard",
};
