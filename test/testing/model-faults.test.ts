import OpenAI from "openai";
import type { ChatCompletion, ChatCompletionChunk } from "openai/resources/chat/completions";
import { afterEach, describe, expect, it } from "vitest";
import {
  createGate,
  type Fault,
  type ModelServer,
  type ReplyScript,
  serveModel,
} from "../../src/testing/index.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
const askIds = { ...ask, logprobs: true, ...({ return_token_ids: true } as object) };
const usage = { stream_options: { include_usage: true } };
const text = "0123456789abcdef";

async function setUp(reply: ReplyScript, maxRetries = 0) {
  const server = await serveModel({ reply });
  servers.push(server);
  return { server, openai: new OpenAI({ baseURL: server.url, apiKey: "none", maxRetries, logLevel: "off" }) };
}

const faulty = (fault: Fault) => setUp({ content: text, chunkTokens: 1, fault });

/** The chunks that came, and the error that ended them. */
async function drain(stream: AsyncIterable<ChatCompletionChunk>) {
  const chunks: ChatCompletionChunk[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk);
    return { chunks, error: undefined };
  } catch (error) {
    return { chunks, error: error as Error };
  }
}

describe("instead of an answer", () => {
  it.each([400, 401, 404, 408, 409, 422, 429, 500, 503])(
    "a status %i with its body and headers",
    async (status) => {
      const { openai } = await faulty({
        status,
        body: { error: { message: "no", code: "c" } },
        retryAfter: 7,
        headers: { "x-request-id": "req_1" },
      });
      const error = await openai.chat.completions.create(ask).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ status, code: "c", requestID: "req_1" });
      expect((error as InstanceType<typeof OpenAI.APIError>).headers!.get("retry-after")).toBe("7");
    },
  );

  it("a text where JSON was due", async () => {
    const { openai } = await faulty({ status: 200, body: "plain words" });
    expect(await openai.chat.completions.create(ask)).toBe("plain words");
  });

  it("a 503 once, then the answer: a list scripts retries", async () => {
    const { server, openai } = await setUp([{ fault: { status: 503, retryAfter: 0 } }, "fine"], 1);
    const answer = await openai.chat.completions.create(ask);
    expect(answer.choices[0]!.message.content).toBe("fine");
    expect(server.requests.map((request) => request.headers["x-stainless-retry-count"])).toEqual(["0", "1"]);
  });

  it("nothing at all, until the client gives up", async () => {
    const { server, openai } = await faulty({ cut: { after: 0, how: "hang" } });
    const controller = new AbortController();
    const call = openai.chat.completions.create(ask, { signal: controller.signal });
    const request = await server.request(0);
    controller.abort();
    await expect(call).rejects.toThrow(OpenAI.APIUserAbortError);
    expect(await request.ended).toBe("disconnected");
  });

  it("a 400 for a prompt over the context length", async () => {
    const server = await serveModel({ contextLength: 4 });
    servers.push(server);
    const openai = new OpenAI({ baseURL: server.url, apiKey: "none" });
    await expect(
      openai.chat.completions.create({ ...ask, messages: [{ role: "user", content: text }] }),
    ).rejects.toThrow(/maximum context length is 4 tokens; the request has 11/);
  });

  it("a 500 that tells what a script threw", async () => {
    const { openai } = await setUp(() => {
      throw new Error("bad script");
    });
    await expect(openai.chat.completions.create(ask)).rejects.toThrow("500 Error: bad script");
  });
});

describe("in the middle of a whole answer", () => {
  it.each(["reset", "end", "malformed", "error"] as const)("%s", async (how) => {
    const { openai } = await faulty({ cut: { after: 1, how } });
    await expect(openai.chat.completions.create(ask)).rejects.toThrow();
  });

  it("half a JSON text", async () => {
    const { openai } = await faulty({
      cut: { after: 0, how: "malformed" },
      headers: { "content-type": "application/json" },
    });
    await expect(openai.chat.completions.create(ask)).rejects.toThrow(SyntaxError);
  });
});

describe("in the middle of a stream", () => {
  it("the connection breaks, after exactly the chunks asked for", async () => {
    const { openai } = await faulty({ cut: { after: 3, how: "reset" } });
    const { chunks, error } = await drain(await openai.chat.completions.create({ ...ask, stream: true }));
    expect(chunks).toHaveLength(3);
    expect(error).toBeInstanceOf(Error);
  });

  it("the rest never comes, in good order", async () => {
    const { openai } = await faulty({ cut: { after: 2, how: "end" } });
    const { chunks, error } = await drain(await openai.chat.completions.create({ ...ask, stream: true }));
    expect(chunks).toHaveLength(2);
    expect(chunks.at(-1)!.choices[0]!.finish_reason).toBeNull();
    expect(error).toBeUndefined();
  });

  it("an error comes as a chunk", async () => {
    const { openai } = await faulty({ cut: { after: 2, how: "error" } });
    const { chunks, error } = await drain(await openai.chat.completions.create({ ...ask, stream: true }));
    expect(chunks).toHaveLength(2);
    expect(error).toMatchObject({ error: { message: "the engine stopped" } });
  });

  it("a line comes that is not JSON", async () => {
    const { openai } = await faulty({ cut: { after: 2, how: "malformed" } });
    const { chunks, error } = await drain(await openai.chat.completions.create({ ...ask, stream: true }));
    expect(chunks).toHaveLength(2);
    expect(error).toBeInstanceOf(SyntaxError);
  });

  it("nothing more comes, until the client leaves", async () => {
    const { server, openai } = await faulty({ cut: { after: 2, how: "hang" } });
    let seen = 0;
    for await (const _ of await openai.chat.completions.create({ ...ask, stream: true })) {
      seen++;
      if (seen === 2) break;
    }
    expect(await server.requests[0]!.ended).toBe("disconnected");
  });

  it("each chunk waits for the gate", async () => {
    const gate = createGate();
    const { openai } = await faulty({ gate: gate.pass });
    const pending = openai.chat.completions.create({ ...ask, stream: true });
    await gate.arrived(1);
    gate.release();
    const chunks = (await pending)[Symbol.asyncIterator]();
    expect((await chunks.next()).value!.choices[0]!.delta.role).toBe("assistant");
    await gate.arrived(2);
    gate.release();
    expect((await chunks.next()).value!.choices[0]!.delta.content).toBe("01");
    gate.open();
    let rest = "";
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      rest += next.value.choices[0]!.delta.content ?? "";
    }
    expect(`01${rest}`).toBe(text);
  });

  it("the first chunk has no choices", async () => {
    const { openai } = await faulty({ emptyFirstChunk: true });
    const { chunks } = await drain(await openai.chat.completions.create({ ...ask, stream: true }));
    expect(chunks[0]!.choices).toEqual([]);
    expect(chunks[1]!.choices[0]!.delta.role).toBe("assistant");
  });

  it("chunks are sent as the test wrote them", async () => {
    const { openai } = await faulty({ rawChunks: ["{}", '{"choices":[{"delta":null}]}', "[DONE]"] });
    const { chunks, error } = await drain(await openai.chat.completions.create({ ...ask, stream: true }));
    expect(chunks).toEqual([{}, { choices: [{ delta: null }] }]);
    expect(error).toBeUndefined();
  });
});

describe("ids that do not add up", () => {
  type ChoiceIds = { token_ids?: number[] };
  type WithIds = ChatCompletion & { choices: ChoiceIds[] };

  it("no ids although asked, whole and streamed", async () => {
    const { openai } = await faulty({ omitTokenIds: true });
    const whole = (await openai.chat.completions.create(askIds)) as WithIds;
    expect(JSON.stringify(whole)).not.toContain("token_ids");
    const { chunks } = await drain(await openai.chat.completions.create({ ...askIds, stream: true }));
    expect(JSON.stringify(chunks)).not.toContain("token_ids");
  });

  it("a usage that counts more than there are", async () => {
    const { openai } = await faulty({ usageOffset: 2 });
    const whole = (await openai.chat.completions.create(askIds)) as WithIds;
    expect(whole.usage!.completion_tokens).toBe(whole.choices[0]!.token_ids!.length + 2);
    const { chunks } = await drain(
      await openai.chat.completions.create({ ...askIds, ...usage, stream: true }),
    );
    expect(chunks.at(-1)!.usage).toEqual(whole.usage);
  });

  it("no usage", async () => {
    const { openai } = await faulty({ omitUsage: true });
    expect((await openai.chat.completions.create(askIds)).usage).toBeUndefined();
    const { chunks } = await drain(
      await openai.chat.completions.create({ ...askIds, ...usage, stream: true }),
    );
    expect(chunks.every((chunk) => chunk.usage === undefined)).toBe(true);
  });

  it("fewer log probabilities than ids, whole and streamed", async () => {
    const { openai } = await faulty({ dropLogprobs: 3 });
    const whole = (await openai.chat.completions.create(askIds)) as WithIds;
    const expected = whole.choices[0]!.token_ids!.length - 3;
    expect(whole.choices[0]!.logprobs!.content).toHaveLength(expected);
    const { chunks } = await drain(await openai.chat.completions.create({ ...askIds, stream: true }));
    const streamed = chunks.flatMap((chunk) => chunk.choices[0]!.logprobs?.content ?? []);
    expect(streamed).toEqual(whole.choices[0]!.logprobs!.content);
  });

  it("a stream whose tool calls have no ids", async () => {
    const fault: Fault = { swallowToolTokens: true };
    const { server, openai } = await setUp({ toolCalls: [{ name: "f", arguments: { a: 1 } }], fault });
    const { chunks } = await drain(
      await openai.chat.completions.create({ ...askIds, ...usage, stream: true }),
    );
    const ids = chunks.flatMap((chunk) =>
      chunk.choices.flatMap((part) => (part as ChoiceIds).token_ids ?? []),
    );
    expect(ids).toHaveLength(1);
    expect(chunks.at(-1)!.usage!.completion_tokens).toBe(server.requests[0]!.answer!.choices[0]!.ids.length);
  });
});
