/**
 * Scenarios of streamed answers.
 *
 * @module
 */
import { attempt, consume, type Scenario, type Stage } from "../scenario.ts";
import { surface } from "../transcript.ts";
import type { AnyClient } from "../versions.ts";
import { ASK, addTool, headers, look, refused } from "./scenarios.ts";
import { end, event, HELLO, START, textBlock, toolBlock } from "./wire-samples.ts";

const ASK_STREAM = { ...ASK, stream: true };
const hello = { headers, sse: HELLO };
const held = {
  headers,
  sse: [...START, ...textBlock(0, "Hel").slice(0, 2), () => new Promise<void>(() => {})],
};
const failing = {
  headers,
  sse: [
    ...START,
    ...textBlock(0, "Hel"),
    event({ type: "error", error: { type: "overloaded_error", message: "later" } }),
  ],
};
const cut = { headers, sse: [...START, ...textBlock(0, "Hel").slice(0, 2)], cut: true };
const broken = { headers, sse: [...START, "event: content_block_delta\ndata: {no\n\n"] };
const unfinished = { headers, sse: [...START, ...textBlock(0, "Hel")] };
const twoTurns = (_: unknown, index: number) => ({
  headers,
  sse:
    index === 0
      ? [...START, ...textBlock(0, "So"), ...toolBlock(1, "t1", '{"a"', ":1}"), ...end("tool_use")]
      : HELLO,
});

/** Everything that the helper tells. */
async function listen(stage: Stage, stream: AnyClient): Promise<void> {
  for (const name of [
    "connect",
    "streamEvent",
    "text",
    "inputJson",
    "contentBlock",
    "message",
    "finalMessage",
  ]) {
    stream.on(name, (...args: unknown[]) => stage.note(name, args));
  }
  for (const name of ["error", "abort", "end"]) stream.on(name, (error?: unknown) => stage.note(name, error));
  await attempt(stage, () => stream.finalMessage());
}

async function lines(readable: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let all = "";
  for await (const part of readable as unknown as AsyncIterable<Uint8Array>) all += decoder.decode(part);
  return all;
}

/** The same ways for `messages` and `beta.messages`. */
const helpers = (name: string, messages: (client: AnyClient) => AnyClient): Scenario[] => [
  {
    name: `${name}: a stream`,
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => consume(stage, await messages(client).create(ASK_STREAM)),
  },
  {
    name: `${name}: the helper`,
    reply: twoTurns,
    outcomes: ["ok"],
    run: (client, stage) => listen(stage, messages(client).stream(ASK)),
  },
  {
    name: `${name}: the helper with its response and text`,
    reply: hello,
    outcomes: ["ok"],
    run: async (client, { note }) => {
      const stream = messages(client).stream(ASK);
      const { data, response, request_id } = await stream.withResponse();
      note("response", [data === stream, response.status, request_id]);
      note("text", [await stream.finalText(), stream.messages, stream.receivedMessages]);
    },
  },
  {
    name: `${name}: the helper's failing stream`,
    reply: failing,
    outcomes: ["error"],
    run: (client, stage) => listen(stage, messages(client).stream(ASK)),
  },
  {
    name: `${name}: the helper refused`,
    reply: refused,
    outcomes: ["error"],
    run: (client, stage) => listen(stage, messages(client).stream(ASK)),
  },
  {
    name: `${name}: the helper refused, unheard`,
    reply: refused,
    outcomes: ["error"],
    run: async (client) => {
      const stream = messages(client).stream(ASK);
      await new Promise<void>((resolve) => stream.on("end", resolve));
    },
  },
  {
    name: `${name}: the helper aborted`,
    reply: held,
    outcomes: ["aborted"],
    run: async (client, stage) => {
      const stream = messages(client).stream(ASK);
      stream.on("text", () => stream.abort());
      await listen(stage, stream);
      await stage.broken(1);
    },
  },
  {
    name: `${name}: the helper read and left`,
    reply: held,
    outcomes: ["aborted"],
    run: async (client, stage) => {
      await attempt(stage, async () => {
        for await (const chunk of messages(client).stream(ASK)) {
          stage.note("event", chunk);
          if (chunk.type === "content_block_delta") break;
        }
      });
      await stage.broken(1);
    },
  },
];

/** Scenarios of streams. */
export const STREAM_SCENARIOS: readonly Scenario[] = [
  ...helpers("messages", (client) => client.messages),
  ...helpers("beta", (client) => client.beta.messages),
  {
    name: "the stream looks the same",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const promise = client.messages.create(ASK_STREAM);
      stage.note("promise", look(promise));
      const stream = await promise;
      stage.note("stream", surface(stream));
      const iterator = stream[Symbol.asyncIterator]();
      stage.note("iterator", [Object.keys(iterator), String(iterator)]);
      await consume(stage, iterator);
      await consume(stage, stream, "second");
    },
  },
  {
    name: "tee",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const [left, right] = (await client.messages.create(ASK_STREAM)).tee();
      await consume(stage, left, "left");
      await consume(stage, right, "right");
    },
  },
  {
    name: "toReadableStream",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const { data, response } = await client.messages.create(ASK_STREAM).withResponse();
      stage.note("text", [await lines(data.toReadableStream()), response.status]);
    },
  },
  {
    name: "break",
    reply: held,
    outcomes: ["cancelled"],
    run: async (client, stage) => {
      for await (const chunk of await client.messages.create(ASK_STREAM)) {
        stage.note("chunk", chunk);
        if (chunk.type === "content_block_delta") break;
      }
      await stage.broken(1);
    },
  },
  {
    name: "break after the last word",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, stage) => {
      for await (const chunk of await client.messages.create(ASK_STREAM)) {
        stage.note("chunk", chunk);
        if (chunk.type === "message_delta") break;
      }
    },
  },
  {
    name: "an error in the consumer",
    reply: hello,
    outcomes: ["cancelled"],
    run: (client, stage) =>
      attempt(stage, async () => {
        for await (const _ of await client.messages.create(ASK_STREAM)) throw new RangeError("mine");
      }),
  },
  {
    name: "abort by the caller's signal",
    reply: held,
    outcomes: ["aborted"],
    run: async (client, stage) => {
      const { signal } = stage.controller;
      for await (const chunk of await client.messages.create(ASK_STREAM, { signal })) {
        stage.note("chunk", chunk);
        if (chunk.type === "content_block_delta") stage.controller.abort();
      }
    },
  },
  {
    name: "abort by the stream's controller",
    reply: held,
    outcomes: ["aborted"],
    run: async (client, stage) => {
      const stream = await client.messages.create(ASK_STREAM);
      for await (const chunk of stream) {
        stage.note("chunk", chunk);
        if (chunk.type === "content_block_delta") stream.controller.abort();
      }
    },
  },
  ...[
    { name: "an error of the API on the way", reply: failing, outcome: "error" },
    { name: "a broken connection", reply: cut, outcome: "error" },
    { name: "an event that is no JSON", reply: broken, outcome: "error" },
    { name: "a stream without an end", reply: unfinished, outcome: "incomplete" },
  ].map(
    ({ name, reply, outcome }): Scenario => ({
      name,
      reply,
      outcomes: [outcome],
      run: async (client, stage) => consume(stage, await client.messages.create(ASK_STREAM)),
    }),
  ),
  {
    name: "refused",
    reply: refused,
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => client.messages.create(ASK_STREAM)),
  },
  {
    name: "a stream that nobody reads",
    reply: hello,
    outcomes: [],
    open: 1,
    run: async (client, { note }) => note("stream", await client.messages.create(ASK_STREAM)),
  },
  {
    name: "tool runner",
    reply: twoTurns,
    outcomes: ["ok", "ok"],
    run: async (client, stage) => {
      const runner = client.beta.messages.toolRunner({ ...ASK_STREAM, tools: [addTool] });
      for await (const stream of runner) {
        await consume(stage, stream);
        stage.note("message", await stream.finalMessage());
      }
      stage.note("params", runner.params.messages);
    },
  },
  {
    name: "tool runner that fails on its way",
    reply: (_, index) => (index === 0 ? twoTurns(_, 0) : failing),
    outcomes: ["ok", "error"],
    run: (client, stage) =>
      attempt(stage, async () => {
        const runner = client.beta.messages.toolRunner({ ...ASK_STREAM, tools: [addTool] });
        for await (const stream of runner) await consume(stage, stream);
      }),
  },
  {
    name: "tool runner aborted",
    reply: held,
    outcomes: ["aborted"],
    run: async (client, stage) => {
      const { signal } = stage.controller;
      await attempt(stage, async () => {
        const runner = client.beta.messages.toolRunner({ ...ASK_STREAM, tools: [addTool] }, { signal });
        for await (const stream of runner) {
          stream.on("text", () => stage.controller.abort());
          await consume(stage, stream);
        }
      });
      await stage.broken(1);
    },
  },
  {
    name: "a thread's stream",
    reply: hello,
    majors: [1],
    outcomes: ["ok"],
    run: (client, stage) =>
      listen(
        stage,
        client.beta.messages
          .thread({ model: "claude-test", max_tokens: 64 })
          .stream({ role: "user", content: "Hi" }),
      ),
  },
  {
    name: "a thread's stream that is refused",
    reply: refused,
    majors: [1],
    outcomes: ["error"],
    run: (client, stage) =>
      listen(
        stage,
        client.beta.messages
          .thread({ model: "claude-test", max_tokens: 64 })
          .stream({ role: "user", content: "Hi" }),
      ),
  },
];
