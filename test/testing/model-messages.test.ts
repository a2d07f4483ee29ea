import Anthropic from "@anthropic-ai/sdk";
import { afterEach, describe, expect, it } from "vitest";
import {
  decode,
  END_ID,
  type ModelServer,
  type ModelServerOptions,
  serveModel,
} from "../../src/testing/index.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function setUp(options: ModelServerOptions = {}) {
  const server = await serveModel(options);
  servers.push(server);
  const apiKey = options.key ?? "none";
  return {
    server,
    anthropic: new Anthropic({ baseURL: server.origin, apiKey, maxRetries: 0, logLevel: "off" }),
  };
}

const ask = { model: "toy", max_tokens: 100, messages: [{ role: "user" as const, content: "Grüße 🌍" }] };
const add = {
  name: "add",
  input_schema: { type: "object" as const, properties: { a: { type: "integer" }, b: { enum: [7] } } },
};
// A field that only our server knows.
const withIds = { return_token_ids: true } as object;

interface Ids {
  prompt_token_ids?: number[];
  token_ids?: number[];
}

describe("messages", () => {
  it("answers whole, in the API's words", async () => {
    const { server, anthropic } = await setUp({
      reply: {
        reasoning: "Hm.",
        content: "Adding.",
        toolCalls: [{ name: "add", arguments: { a: 1, b: 7 }, id: "t1" }],
      },
    });
    const message = await anthropic.messages.create({
      ...ask,
      system: [{ type: "text", text: "Be brief." }],
      messages: [
        ...ask.messages,
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "?", signature: "s" },
            { type: "text", text: "Wait." },
            { type: "tool_use", id: "t0", name: "add", input: { a: 2, b: 7 } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t0", content: [{ type: "text", text: "9" }] },
            { type: "text", text: "And?" },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t0", content: "10" }] },
      ],
      tools: [add],
    });
    const [request] = server.requests;
    expect(message).toMatchObject({
      id: "msg_00000000",
      type: "message",
      role: "assistant",
      model: "toy",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "toy" },
        { type: "text", text: "Adding." },
        { type: "tool_use", id: "t1", name: "add", input: { a: 1, b: 7 } },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage: {
        input_tokens: request?.answer?.promptIds.length,
        output_tokens: request?.answer?.choices[0]?.ids.length,
      },
    });
    expect(message).not.toHaveProperty("token_ids");
    expect(request?.operation).toBe("message");
    expect(request?.tools).toEqual(["add"]);
    expect(request?.messages).toEqual([
      { role: "system", content: "Be brief.", toolCalls: [] },
      { role: "user", content: "Grüße 🌍", toolCalls: [] },
      { role: "assistant", content: "Wait.", toolCalls: [{ name: "add", arguments: '{"a":2,"b":7}' }] },
      { role: "tool", content: "9", toolCalls: [] },
      { role: "user", content: "And?", toolCalls: [] },
      { role: "tool", content: "10", toolCalls: [] },
    ]);
  });

  it("streams what it answers whole, also to the SDK's helper", async () => {
    const { anthropic } = await setUp({
      reply: {
        reasoning: "Hm.",
        content: "Grüße 🌍",
        toolCalls: [{ name: "add", arguments: { a: 1, b: 7 }, id: "t1" }],
      },
    });
    const whole = await anthropic.messages.create({ ...ask, tools: [add] });
    const streamed = await anthropic.messages.stream({ ...ask, tools: [add] }).finalMessage();
    expect({ ...streamed, id: whole.id, content: streamed.content }).toMatchObject({
      ...whole,
      content: whole.content.map((block) =>
        block.type === "text" ? { type: "text", text: block.text } : block,
      ),
    });
    const types: string[] = [];
    for await (const event of await anthropic.messages.create({ ...ask, stream: true }))
      types.push(event.type);
    expect(types.filter((type, at) => type !== types[at - 1])).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
  });

  it("gives the same token ids whole and streamed where they are asked for", async () => {
    const { server, anthropic } = await setUp({
      reply: { reasoning: "Hm.", content: "Hi", toolCalls: [{ name: "add", arguments: { a: 1 } }] },
    });
    const whole: Ids = (await anthropic.messages.create({ ...ask, ...withIds })) as object;
    const ids: number[] = [];
    let prompt: number[] | undefined;
    const stream = await anthropic.messages.create({ ...ask, ...withIds, stream: true });
    for await (const event of stream) {
      if (event.type === "message_start") prompt = (event.message as Ids).prompt_token_ids;
      ids.push(...((event as Ids).token_ids ?? []));
    }
    const answers = server.requests.map(({ answer }) => answer);
    expect(whole.token_ids).toEqual(answers[0]?.choices[0]?.ids);
    expect(whole.prompt_token_ids).toEqual(answers[0]?.promptIds);
    expect(ids).toEqual(answers[1]?.choices[0]?.ids);
    expect(prompt).toEqual(answers[1]?.promptIds);
    expect(ids.at(-1)).toBe(END_ID);
    expect(decode(ids)).toContain("Hi");
  });

  it("stops at the limit, refuses, and calls the tool that it must", async () => {
    const { anthropic } = await setUp({ reply: ["one two three four", { refusal: "No." }] });
    const cut = await anthropic.messages.create({ ...ask, max_tokens: 3 });
    expect(cut).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 3 } });
    const refused = await anthropic.messages.create(ask);
    expect(refused).toMatchObject({ stop_reason: "refusal", content: [{ type: "text", text: "No." }] });
    for (const tool_choice of [{ type: "any" as const }, { type: "tool" as const, name: "add" }]) {
      const { content, stop_reason } = await anthropic.messages.create({ ...ask, tools: [add], tool_choice });
      expect(stop_reason).toBe("tool_use");
      expect(content).toMatchObject([{ type: "tool_use", name: "add", input: { b: 7 } }]);
    }
    const schema = {
      type: "object",
      properties: { x: { const: 1 } },
      required: ["x"],
      additionalProperties: false,
    };
    const { content } = await anthropic.messages.create({
      ...ask,
      output_config: { format: { type: "json_schema", schema } },
    });
    expect(content).toMatchObject([{ type: "text", text: '{"x":1}' }]);
  });

  it("fails as the API fails", async () => {
    const { anthropic } = await setUp({
      reply: [
        { content: "Hello there", fault: { cut: { after: 3, how: "error" } } },
        { content: "Hello there", fault: { cut: { after: 3, how: "malformed" } } },
        { content: "Hello there", fault: { cut: { after: 0, how: "error" } } },
      ],
      key: "secret",
    });
    const read = async () => {
      for await (const _ of await anthropic.messages.create({ ...ask, stream: true }));
    };
    await expect(read()).rejects.toMatchObject({
      error: { type: "error", error: { type: "api_error", message: "the engine stopped" } },
    });
    await expect(read()).rejects.toThrow(SyntaxError);
    await expect(anthropic.messages.create(ask)).rejects.toMatchObject({ status: 500 });
    const stranger = anthropic.withOptions({ apiKey: "wrong" });
    await expect(stranger.messages.create(ask)).rejects.toMatchObject({ status: 401 });
  });
});
