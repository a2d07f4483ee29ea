import OpenAI from "openai";
import type { ChatCompletion, ChatCompletionChunk } from "openai/resources/chat/completions";
import { afterEach, describe, expect, it } from "vitest";
import {
  completionText,
  decode,
  END_ID,
  encode,
  type ModelServer,
  type ModelServerOptions,
  serveModel,
} from "../../src/testing/index.ts";

interface ChoiceIds {
  token_ids?: number[];
  prompt_token_ids?: number[];
}
/** An answer or chunk with the fields that vLLM adds. */
type WithIds<T extends { choices: unknown[] }> = Omit<T, "choices"> & {
  prompt_token_ids?: number[];
  choices: Array<T["choices"][number] & ChoiceIds>;
};

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function setUp(options: ModelServerOptions = {}) {
  const server = await serveModel({ now: () => 1_700_000_000_000, ...options });
  servers.push(server);
  const openai = new OpenAI({ baseURL: server.url, apiKey: options.key ?? "none", maxRetries: 0 });
  return { server, openai };
}

const messages = [
  { role: "system" as const, content: "Be brief." },
  { role: "user" as const, content: "Grüße, 世界 🌍" },
];
const tools = [
  {
    type: "function" as const,
    function: {
      name: "add",
      parameters: { type: "object", properties: { a: { type: "integer" }, b: { enum: [7] } } },
    },
  },
];
// Fields that vLLM knows and the SDK's types do not.
const withIds = { return_token_ids: true, logprobs: true } as { logprobs: boolean };

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const chunk of stream) all.push(chunk);
  return all;
}

describe("chat completions", () => {
  it("answers whole, with ids that decode to the text and a usage that counts them", async () => {
    const { server, openai } = await setUp({ reply: "Hallo 🌍!" });
    const answer = (await openai.chat.completions.create({
      model: "m",
      messages,
      ...withIds,
    })) as WithIds<ChatCompletion>;
    expect(answer.choices[0]!.message).toEqual({ role: "assistant", content: "Hallo 🌍!", refusal: null });
    const ids = [...encode("Hallo 🌍!"), END_ID];
    expect(answer.choices[0]!.token_ids).toEqual(ids);
    expect(decode(answer.prompt_token_ids!, { marks: true })).toBe(
      "<|system|>Be brief.<|end|><|user|>Grüße, 世界 🌍<|end|><|assistant|>",
    );
    const prompt = answer.prompt_token_ids!.length;
    expect(answer.usage).toEqual({
      prompt_tokens: prompt,
      completion_tokens: ids.length,
      total_tokens: prompt + ids.length,
    });
    expect(answer.choices[0]!.logprobs!.content).toHaveLength(ids.length);
    expect(answer.id).toBe("chatcmpl-00000000");
    expect(answer.created).toBe(1_700_000_000);
    expect(server.requests[0]!.answer!.choices[0]!.ids).toEqual(ids);
  });

  it("streams the same ids, text, log probabilities and usage as it answers whole", async () => {
    const reply = {
      reasoning: "Denk 🤔",
      content: "Text 世界",
      toolCalls: [
        { name: "add", arguments: { a: 1, b: "ü" } },
        { name: "sub", arguments: "{}" },
      ],
      chunkTokens: 3,
    };
    const { openai } = await setUp({ reply });
    const whole = (await openai.chat.completions.create({
      model: "m",
      messages,
      tools,
      ...withIds,
    })) as WithIds<ChatCompletion>;
    const chunks = (await collect(
      await openai.chat.completions.create({
        model: "m",
        messages,
        tools,
        ...withIds,
        stream: true,
        stream_options: { include_usage: true },
      }),
    )) as Array<WithIds<ChatCompletionChunk>>;

    expect(chunks[0]!.prompt_token_ids).toEqual(whole.prompt_token_ids);
    expect(chunks.slice(1).some((chunk) => "prompt_token_ids" in chunk)).toBe(false);
    const parts = chunks.flatMap((chunk) => chunk.choices);
    expect(parts.flatMap((part) => part.token_ids ?? [])).toEqual(whole.choices[0]!.token_ids);
    expect(parts.every((part) => (part.token_ids ?? []).length <= 3)).toBe(true);
    expect(parts.flatMap((part) => part.logprobs?.content ?? [])).toEqual(
      whole.choices[0]!.logprobs!.content,
    );
    expect(chunks.at(-1)!.usage).toEqual(whole.usage);
    expect(parts.map((part) => part.delta.content ?? "").join("")).toBe("Text 世界");
    const reasoning = parts.map((part) => (part.delta as { reasoning?: string }).reasoning ?? "");
    expect(reasoning.join("")).toBe("Denk 🤔");
    const calls: Array<{ id: string; name: string; args: string }> = [];
    for (const delta of parts.flatMap((part) => part.delta.tool_calls ?? [])) {
      if (delta.id !== undefined)
        calls[delta.index] = { id: delta.id, name: delta.function!.name!, args: "" };
      calls[delta.index]!.args += delta.function?.arguments ?? "";
    }
    expect(calls).toEqual([
      { id: "call_00000001_0_0", name: "add", args: '{"a":1,"b":"ü"}' },
      { id: "call_00000001_0_1", name: "sub", args: "{}" },
    ]);
    expect(parts.at(-1)!.finish_reason).toBe("tool_calls");
    const message = whole.choices[0]!.message as Parameters<typeof completionText>[0];
    expect(decode(whole.choices[0]!.token_ids!)).toBe(completionText(message));
  });

  it("gives n choices their own texts, and interleaves them in a stream", async () => {
    const { openai } = await setUp({
      reply: { choices: [{ content: "first one" }, { content: "2" }], chunkTokens: 2 },
    });
    const whole = await openai.chat.completions.create({ model: "m", messages, n: 3 });
    expect(whole.choices.map((choice) => choice.message.content)).toEqual(["first one", "2", "2"]);
    const stream = await openai.chat.completions.create({ model: "m", messages, n: 2, stream: true });
    const parts = (await collect(stream)).flatMap((chunk) => chunk.choices);
    const texts = [0, 1].map((index) =>
      parts
        .filter((part) => part.index === index)
        .map((part) => part.delta.content ?? "")
        .join(""),
    );
    expect(texts).toEqual(["first one", "2"]);
    expect(parts.slice(0, 4).map((part) => part.index)).toEqual([0, 1, 0, 1]);
  });

  it("cuts at the token limit, whole and streamed", async () => {
    const { openai } = await setUp({ reply: "abcdefgh" });
    const whole = (await openai.chat.completions.create({
      model: "m",
      messages,
      max_tokens: 2,
      ...withIds,
    })) as WithIds<ChatCompletion>;
    expect(whole.choices[0]).toMatchObject({ finish_reason: "length", message: { content: "abcd" } });
    expect(whole.choices[0]!.token_ids).toEqual(encode("abcd"));
    expect(whole.usage!.completion_tokens).toBe(2);
    const stream = await openai.chat.completions.create({
      model: "m",
      messages,
      max_tokens: 2,
      stream: true,
    });
    expect((await collect(stream)).at(-1)!.choices[0]!.finish_reason).toBe("length");
  });

  it("works with parse, stream and runTools of the SDK", async () => {
    const { server, openai } = await setUp({
      reply: (request) => {
        if (request.body["response_format"] !== undefined) return undefined;
        if (request.tools.length === 0) return "streamed text";
        const last = request.messages.at(-1)!;
        if (last.role === "tool") return `It is ${last.content}.`;
        return { toolCalls: [{ name: "add", arguments: { a: 2, b: 3 } }] };
      },
    });
    const schema = { type: "object", properties: { n: { type: "number" }, s: { $ref: "#/$defs/s" } } };
    const parsed = await openai.chat.completions.parse({
      model: "m",
      messages,
      response_format: {
        type: "json_schema",
        json_schema: { name: "x", schema: { ...schema, $defs: { s: { enum: ["p", "q"] } } } },
      },
    });
    expect(JSON.parse(parsed.choices[0]!.message.content!)).toEqual({ n: 1, s: "p" });
    const streamed = openai.chat.completions.stream({ model: "m", messages });
    expect(await streamed.finalContent()).toBe("streamed text");
    const add = {
      name: "add",
      description: "Adds.",
      parameters: {},
      parse: JSON.parse as (text: string) => { a: number; b: number },
      function: (args: { a: number; b: number }) => String(args.a + args.b),
    };
    const runner = openai.chat.completions.runTools({
      model: "m",
      messages,
      tools: [{ type: "function", function: add }],
    });
    expect(await runner.finalContent()).toBe("It is 5.");
    expect(server.requests).toHaveLength(4);
  });

  it("calls the tool it must call, with arguments that fit", async () => {
    const { openai } = await setUp();
    const forced = await openai.chat.completions.create({
      model: "m",
      messages,
      tools,
      tool_choice: "required",
    });
    expect(forced.choices[0]!.message.tool_calls![0]).toMatchObject({
      function: { name: "add", arguments: '{"a":1,"b":7}' },
    });
    const free = await openai.chat.completions.create({ model: "m", messages, tools });
    expect(free.choices[0]!.message.content).toBe("You said: Grüße, 世界 🌍");
  });
});

describe("the other endpoints", () => {
  it("completes text, whole and streamed, with ids in each choice", async () => {
    const { openai } = await setUp({ reply: "brown fox" });
    const ask = { model: "m", prompt: "The quick", ...({ return_token_ids: true } as object), logprobs: 1 };
    const whole = await openai.completions.create(ask);
    const ids = whole.choices[0] as ChoiceIds;
    expect(whole.choices[0]!.text).toBe("brown fox");
    expect(ids.prompt_token_ids).toEqual(encode("The quick"));
    expect(ids.token_ids).toEqual([...encode("brown fox"), END_ID]);
    expect(whole.choices[0]!.logprobs!.token_logprobs).toHaveLength(ids.token_ids!.length);
    const chunks = await collect(await openai.completions.create({ ...ask, stream: true }));
    const parts = chunks.flatMap((chunk) => chunk.choices);
    expect(parts.map((part) => part.text).join("")).toBe("brown fox");
    expect(parts.flatMap((part) => (part as { token_ids?: number[] }).token_ids)).toEqual(ids.token_ids);
    expect(parts.flatMap((part) => part.logprobs!.token_logprobs)).toEqual(
      whole.choices[0]!.logprobs!.token_logprobs,
    );
    expect(parts.flatMap((part) => part.logprobs!.text_offset)).toEqual(
      whole.choices[0]!.logprobs!.text_offset,
    );
  });

  it("responds, whole and streamed, to the same final response", async () => {
    const reply = { content: "Hi 🌍", reasoning: "hm", toolCalls: [{ name: "add", arguments: { a: 1 } }] };
    const { openai } = await setUp({ reply });
    const ask = { model: "m", input: "hello", include: ["message.output_text.logprobs" as const] };
    const whole = await openai.responses.create(ask);
    expect(whole.output_text).toBe("Hi 🌍");
    expect(whole.output.map((item) => item.type)).toEqual(["reasoning", "message", "function_call"]);
    const events = await collect(await openai.responses.create({ ...ask, stream: true }));
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    const final = events.at(-1)!;
    if (final.type !== "response.completed") throw new Error(`ended with ${final.type}`);
    const texts = events.flatMap((event) =>
      event.type === "response.output_text.delta" ? [event.delta] : [],
    );
    expect(texts.join("")).toBe("Hi 🌍");
    expect(final.response.usage).toEqual(whole.usage);
    const withoutIds = (text: unknown) => JSON.stringify(text).replaceAll(/0000000\d/g, "N");
    expect(withoutIds(final.response.output)).toBe(withoutIds(whole.output));
    const helper = openai.responses.stream(ask);
    expect((await helper.finalResponse()).output_text).toBe("Hi 🌍");
  });

  it("marks a response incomplete at the token limit", async () => {
    const { openai } = await setUp({ reply: "abcdefgh" });
    const whole = await openai.responses.create({ model: "m", input: "x", max_output_tokens: 1 });
    expect(whole).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    });
    const events = await collect(
      await openai.responses.create({ model: "m", input: "x", max_output_tokens: 1, stream: true }),
    );
    expect(events.at(-1)!.type).toBe("response.incomplete");
  });

  it("embeds to the same vector in base64 and in floats", async () => {
    const { openai } = await setUp();
    const packed = await openai.embeddings.create({ model: "m", input: ["a", "b"] });
    const plain = await openai.embeddings.create({ model: "m", input: ["a", "b"], encoding_format: "float" });
    expect(packed.data.map((item) => [...item.embedding])).toEqual(plain.data.map((item) => item.embedding));
    expect(plain.data[0]!.embedding).toHaveLength(8);
    expect(plain.data[0]!.embedding).not.toEqual(plain.data[1]!.embedding);
    expect(plain.usage).toEqual({ prompt_tokens: 2, total_tokens: 2 });
  });

  it("lists its models", async () => {
    const { openai } = await setUp({ models: ["a", "b"] });
    expect((await collect(openai.models.list())).map((model) => model.id)).toEqual(["a", "b"]);
  });
});

describe("flavours", () => {
  it("gives prompt ids per choice as SGLang does", async () => {
    const { openai } = await setUp({ flavour: "sglang" });
    const answer = (await openai.chat.completions.create({
      model: "m",
      messages,
      ...withIds,
    })) as WithIds<ChatCompletion>;
    expect(answer.prompt_token_ids).toBeUndefined();
    expect(decode(answer.choices[0]!.prompt_token_ids!)).toBe("Be brief.Grüße, 世界 🌍");
  });

  it("refuses unknown fields as OpenAI does", async () => {
    const { openai } = await setUp({ flavour: "openai" });
    await expect(openai.chat.completions.create({ model: "m", messages, ...withIds })).rejects.toThrow(
      "400 Unrecognized request argument supplied: return_token_ids",
    );
    const plain = (await openai.chat.completions.create({ model: "m", messages })) as WithIds<ChatCompletion>;
    expect(plain.choices[0]!.token_ids).toBeUndefined();
  });

  it("names thinking text as older servers do", async () => {
    const { openai } = await setUp({
      reply: { reasoning: "r", content: "c" },
      reasoningField: "reasoning_content",
    });
    const answer = await openai.chat.completions.create({ model: "m", messages });
    expect(answer.choices[0]!.message).toMatchObject({ reasoning_content: "r", content: "c" });
  });
});

it("gives the same log probabilities for the same seed only", async () => {
  const ask = async (seed: number) => {
    const { openai } = await setUp({ reply: "the same", seed });
    const answer = await openai.chat.completions.create({
      model: "m",
      messages,
      logprobs: true,
      top_logprobs: 2,
    });
    return answer.choices[0]!.logprobs!.content!;
  };
  const [one, again, other] = [await ask(1), await ask(1), await ask(2)];
  expect(one).toEqual(again);
  expect(one).not.toEqual(other);
  expect(one[0]!.top_logprobs).toHaveLength(2);
  expect(one[0]!.top_logprobs[0]!.logprob).toBe(one[0]!.logprob);
  expect(one.every(({ logprob }) => logprob < 0 && logprob >= -4 && Number.isInteger(logprob * 1024))).toBe(
    true,
  );
});

it("records what came, and uses a list up before its default answers", async () => {
  const { server, openai } = await setUp({ key: "secret", reply: ["one", { content: "two" }] });
  const say = async () =>
    (await openai.chat.completions.create({ model: "m", messages })).choices[0]!.message.content;
  expect([await say(), await say(), await say()]).toEqual(["one", "two", "You said: Grüße, 世界 🌍"]);
  expect(
    server.requests.map((request) => [request.index, request.method, request.path, request.operation]),
  ).toEqual([0, 1, 2].map((index) => [index, "POST", "/v1/chat/completions", "chat"]));
  expect(server.requests[0]!.headers["authorization"]).toBe("Bearer secret");
  expect(JSON.parse(server.requests[0]!.text)).toEqual({ model: "m", messages });
  expect(await server.requests[0]!.ended).toBe("sent");
  const wrong = new OpenAI({ baseURL: server.url, apiKey: "guess", maxRetries: 0 });
  await expect(wrong.models.list()).rejects.toMatchObject({ status: 401 });
});

it("takes a prompt of megabytes", async () => {
  const server = await serveModel({ reply: "read" });
  servers.push(server);
  const content = "x y ".repeat(500_000);
  const openai = new OpenAI({ baseURL: server.url, apiKey: "none", maxRetries: 0 });
  const answer = await openai.chat.completions.create({
    model: "toy",
    messages: [{ role: "user", content }],
  });
  expect(answer.choices[0]?.message.content).toBe("read");
  expect(answer.usage?.prompt_tokens).toBeGreaterThan(encode(content).length);
});
