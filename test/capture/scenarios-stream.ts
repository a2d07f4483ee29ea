/**
 * Scenarios of streamed chat completions.
 *
 * @module
 */
import { createGate } from "../../src/testing/gate.ts";
import { ASK, ASK_STREAM, attempt, consume, type Scenario } from "./scenario.ts";
import { surface } from "./transcript.ts";
import { chatHelpers } from "./versions.ts";
import { delta, HELLO, PARALLEL_CALLS, usageChunk } from "./wire-samples.ts";

const hello = { sse: HELLO };
const never = () => new Promise<void>(() => {});
const midError = {
  sse: [...HELLO.slice(0, 2), { error: { message: "overloaded", code: "e2", type: "server" } }],
};
const refused = { status: 400, json: { error: { message: "bad" } } };

/** Reads lines of a `ReadableStream`. */
async function lines(readable: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const part of readable as unknown as AsyncIterable<Uint8Array>)
    text += decoder.decode(part, { stream: true });
  return text;
}

export const STREAM_SCENARIOS: readonly Scenario[] = [
  {
    name: "stream",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => consume(stage, await client.chat.completions.create(ASK_STREAM)),
  },
  {
    name: "the stream and its iterator look the same",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const stream = await client.chat.completions.create(ASK_STREAM);
      stage.note("stream", surface(stream));
      const iterator = stream[Symbol.asyncIterator]();
      stage.note("iterator", [
        Object.keys(iterator),
        String(iterator),
        iterator[Symbol.asyncIterator]() === iterator,
      ]);
      await consume(stage, iterator);
      stage.note("after", await iterator.next());
    },
  },
  {
    name: "a second reading",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const stream = await client.chat.completions.create(ASK_STREAM);
      await consume(stage, stream);
      await consume(stage, stream, "second");
    },
  },
  {
    name: "tee",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const [left, right] = (await client.chat.completions.create(ASK_STREAM)).tee();
      stage.note("surface", surface(left));
      await consume(stage, left, "left");
      await consume(stage, right, "right");
    },
  },
  {
    name: "toReadableStream",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const stream = await client.chat.completions.create(ASK_STREAM);
      stage.note("text", await lines(stream.toReadableStream()));
    },
  },
  {
    name: "break",
    reply: { sse: [...HELLO.slice(0, 2), never] },
    outcomes: ["cancelled"],
    run: async (client, stage) => {
      const stream = await client.chat.completions.create(ASK_STREAM);
      for await (const chunk of stream) {
        stage.note("chunk", chunk);
        if (chunk.choices[0].delta.content === "Hello") break;
      }
      stage.note("aborted", stream.controller.signal.aborted);
      await stage.broken(1);
    },
  },
  {
    name: "an error in the consumer",
    reply: hello,
    outcomes: ["cancelled"],
    run: (client, stage) =>
      attempt(stage, async () => {
        for await (const _ of await client.chat.completions.create(ASK_STREAM)) throw new RangeError("mine");
      }),
  },
  {
    name: "break after the last word",
    reply: { sse: [...HELLO, never] },
    outcomes: ["ok"],
    run: async (client, stage) => {
      for await (const chunk of await client.chat.completions.create(ASK_STREAM)) {
        stage.note("chunk", chunk);
        if (chunk.choices[0].finish_reason === "stop") break;
      }
    },
  },
  {
    name: "abort by the caller's signal",
    reply: { sse: [...HELLO.slice(0, 2), never] },
    outcomes: ["aborted"],
    run: async (client, stage) => {
      const { signal } = stage.controller;
      const stream = await client.chat.completions.create(ASK_STREAM, { signal });
      try {
        for await (const chunk of stream) {
          stage.note("chunk", chunk);
          if (chunk.choices[0].delta.content === "Hello") stage.controller.abort();
        }
        stage.note("end");
      } catch (error) {
        stage.note("thrown", error);
      }
    },
  },
  {
    name: "abort by the stream's controller",
    reply: { sse: [...HELLO.slice(0, 2), never] },
    outcomes: ["aborted"],
    run: async (client, stage) => {
      const stream = await client.chat.completions.create(ASK_STREAM);
      try {
        for await (const chunk of stream) {
          stage.note("chunk", chunk);
          if (chunk.choices[0].delta.content === "Hello") stream.controller.abort();
        }
        stage.note("end");
      } catch (error) {
        stage.note("thrown", error);
      }
    },
  },
  {
    name: "a signal that outlives the stream",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) =>
      consume(stage, await client.chat.completions.create(ASK_STREAM, { signal: stage.controller.signal })),
  },
  {
    name: "an error in the middle",
    reply: midError,
    outcomes: ["error"],
    run: async (client, stage) => consume(stage, await client.chat.completions.create(ASK_STREAM)),
  },
  {
    name: "an error in the middle, under tee",
    reply: midError,
    outcomes: ["error"],
    run: async (client, stage) => {
      const [left, right] = (await client.chat.completions.create(ASK_STREAM)).tee();
      await Promise.all([consume(stage, left, "left"), consume(stage, right, "right")]);
    },
  },
  {
    name: "a connection that breaks",
    reply: { sse: HELLO.slice(0, 2), cut: true },
    outcomes: ["error"],
    run: async (client, stage) => {
      let chunks = 0;
      try {
        for await (const _ of await client.chat.completions.create(ASK_STREAM)) chunks++;
      } catch (error) {
        stage.note("thrown", (error as Error).constructor.name);
      }
      stage.note("chunks", chunks);
    },
  },
  {
    name: "a stream that ends before its last word",
    reply: { sse: HELLO.slice(0, 2) },
    outcomes: ["incomplete"],
    run: async (client, stage) => consume(stage, await client.chat.completions.create(ASK_STREAM)),
  },
  {
    name: "a refused stream",
    reply: refused,
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => client.chat.completions.create(ASK_STREAM)),
  },
  {
    name: "stream withResponse",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const got = await client.chat.completions.create(ASK_STREAM).withResponse();
      stage.note("response", [got.response.status, got.request_id, surface(got.data)]);
      await consume(stage, got.data);
    },
  },
  {
    name: "asResponse of a stream",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) =>
      stage.note("text", await (await client.chat.completions.create(ASK_STREAM).asResponse()).text()),
  },
  {
    name: "parallel tool calls by turns",
    reply: { sse: PARALLEL_CALLS },
    outcomes: ["ok"],
    run: async (client, stage) => consume(stage, await client.chat.completions.create(ASK_STREAM)),
  },
  {
    name: "n=2",
    reply: {
      sse: [
        delta({ role: "assistant", content: "a" }),
        delta({ role: "assistant", content: "b" }, {}, 1),
        delta({}, { finish_reason: "stop" }),
        delta({}, { finish_reason: "length" }, 1),
      ],
    },
    outcomes: ["truncated"],
    run: async (client, stage) =>
      consume(stage, await client.chat.completions.create({ ...ASK_STREAM, n: 2 })),
  },
  {
    name: "a chunk without choices first, and usage last",
    reply: { sse: [{ ...delta({}), choices: [], prompt_filter_results: [] }, ...HELLO, usageChunk(3, 4)] },
    outcomes: ["ok"],
    run: async (client, stage) =>
      consume(
        stage,
        await client.chat.completions.create({ ...ASK_STREAM, stream_options: { include_usage: true } }),
      ),
  },
  {
    name: "odd chunks",
    reply: { sse: [{}, { choices: null }, { choices: [{ delta: null }] }, ...HELLO] },
    outcomes: ["ok"],
    run: async (client, stage) => consume(stage, await client.chat.completions.create(ASK_STREAM)),
  },
  {
    name: "a choice that is null",
    reply: { sse: [{ choices: [null] }, ...HELLO] },
    // openai 7 fails on it while it fills in finish reasons, and leaves its own stream.
    outcomes: (major) => (major === 7 ? ["cancelled"] : ["ok"]),
    run: async (client, stage) => consume(stage, await client.chat.completions.create(ASK_STREAM)),
  },
  {
    name: "chunks that the consumer changes",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => {
      for await (const chunk of await client.chat.completions.create(ASK_STREAM)) {
        stage.note("chunk", [chunk, Object.isFrozen(chunk), Object.isExtensible(chunk)]);
        chunk.choices.length = 0;
        chunk.id = "changed";
      }
    },
  },
  {
    name: "each chunk is given out before the next is sent",
    reply: () => {
      const gate = createGate();
      gates.push(gate);
      return { sse: HELLO.flatMap((chunk) => [chunk, gate.pass]) };
    },
    outcomes: ["ok"],
    run: async (client, stage) => {
      const stream = await client.chat.completions.create(ASK_STREAM);
      const gate = gates.pop()!;
      for await (const chunk of stream) {
        stage.note("chunk", chunk);
        gate.release();
      }
    },
  },
  {
    name: "a stream that nobody reads",
    reply: hello,
    outcomes: ["incomplete"],
    open: 1,
    run: async (client, stage) =>
      stage.note("stream", surface(await client.chat.completions.create(ASK_STREAM))),
  },
  {
    name: "steps taken by hand, and an early return",
    reply: hello,
    outcomes: ["cancelled"],
    run: async (client, stage) => {
      const iterator = (await client.chat.completions.create(ASK_STREAM))[Symbol.asyncIterator]();
      stage.note("steps", await Promise.all([iterator.next(), iterator.next()]));
      stage.note("return", await iterator.return("done"));
      stage.note("after", await iterator.next());
    },
  },
  {
    name: "the helper stream, by events",
    reply: { sse: [...HELLO, usageChunk(3, 4)] },
    outcomes: ["ok"],
    run: async (client, stage) => {
      const helper = chatHelpers(client).stream(ASK);
      for (const event of [
        "connect",
        "chunk",
        "content",
        "message",
        "finalMessage",
        "end",
        "error",
        "abort",
      ]) {
        helper.on(event, (...args: unknown[]) => stage.note(event, args));
      }
      stage.note("final", await helper.finalChatCompletion());
      stage.note("usage", await helper.totalUsage());
    },
  },
  {
    name: "the helper stream, by for await",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => consume(stage, chatHelpers(client).stream(ASK)),
  },
  {
    name: "the helper stream, aborted",
    reply: { sse: [...HELLO.slice(0, 2), never] },
    outcomes: ["aborted"],
    run: async (client, stage) => {
      const helper = chatHelpers(client).stream(ASK);
      helper.on("content", () => helper.abort());
      helper.on("abort", (error: unknown) => stage.note("abort", error));
      await attempt(stage, () => helper.done());
    },
  },
  {
    name: "the helper stream, refused",
    reply: refused,
    outcomes: ["error"],
    run: async (client, stage) => {
      const helper = chatHelpers(client).stream(ASK);
      helper.on("error", (error: unknown) => stage.note("error", error));
      await attempt(stage, () => helper.finalContent());
    },
  },
  {
    name: "the helper stream, an error in the middle",
    reply: midError,
    outcomes: ["error"],
    run: async (client, stage) => {
      const helper = chatHelpers(client).stream(ASK);
      helper.on("error", (error: unknown) => stage.note("error", error));
      await attempt(stage, () => helper.finalContent());
    },
  },
];

const gates: Array<ReturnType<typeof createGate>> = [];
