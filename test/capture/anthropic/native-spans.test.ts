import Anthropic from "@anthropic-ai/sdk";
import { type ReadableSpan, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { createSpanProcessor } from "../../../src/export/span-processor.ts";
import { type ModelServer, serveModel } from "../../../src/testing/index.ts";
import type { FinishedSpan } from "../../../src/trace/finished-span.ts";
import { currentScope } from "../../../src/trace/scope.ts";
import { record } from "../recorded.ts";

let model: ModelServer;
beforeAll(async () => {
  model = await serveModel({ reply: "Hello" });
});
afterAll(() => model.close());

const ASK = { model: "toy", max_tokens: 64, messages: [{ role: "user" as const, content: "Hi" }] };
const report = { sent: 0, failed: 0, pending: 0 };

/** A client that makes OpenTelemetry spans of its own, in a provider that has our processor. */
function setUp() {
  const app: ReadableSpan[] = [];
  const store: FinishedSpan[] = [];
  const sink = {
    add: (span: FinishedSpan) => void store.push(span),
    flush: async () => report,
    shutdown: async () => report,
  };
  const done = async () => {};
  const tracerProvider = new TracerProvider({
    spanProcessors: [
      { onStart() {}, onEnd: (span) => void app.push(span), forceFlush: done, shutdown: done },
      createSpanProcessor({ sink, currentScope }),
    ],
  });
  const client = new Anthropic({
    apiKey: "key",
    baseURL: model.origin,
    openTelemetry: { tracerProvider, traces: { contentMode: "content" } },
  });
  return { client, app, store, tracer: tracerProvider.getTracer("app") };
}

const WAYS: Array<[string, (client: Anthropic) => Promise<unknown>]> = [
  ["create", (client) => client.messages.create(ASK)],
  ["create with response", (client) => client.beta.messages.create(ASK).withResponse()],
  [
    "stream",
    async (client) => {
      for await (const _ of await client.messages.create({ ...ASK, stream: true }));
    },
  ],
  ["helper", (client) => client.messages.stream(ASK).finalMessage()],
  ["beta helper", (client) => client.beta.messages.stream(ASK).finalMessage()],
  ["parse", (client) => client.messages.parse(ASK)],
  [
    "a failure",
    (client) => client.messages.create(ASK, { path: "/nowhere" } as object).catch(() => undefined),
  ],
];

const inWords = ({ name, attributes, status, kind }: ReadableSpan) => ({ name, attributes, status, kind });

test.each(WAYS)("%s: the app's provider gets the same, the rollout each call once", async (_, use) => {
  const bare = setUp();
  await use(bare.client);
  const ours = setUp();
  instrument(ours.client);
  const { spans } = await record(() => use(ours.client));
  expect(bare.app).toHaveLength(1);
  const id = /^(gen_ai\.response\.(id|time_to_first_chunk)|anthropic\.request|gen_ai\.output\.messages)/;
  const words = (span: ReadableSpan) => ({
    ...inWords(span),
    attributes: Object.fromEntries(Object.entries(span.attributes).filter(([name]) => !id.test(name))),
  });
  expect(ours.app.map(words)).toEqual(bare.app.map(words));
  expect(spans.map(({ name }) => name)).toEqual(["openai.chat.completion"]);
  expect(ours.store).toEqual([]);
});

test("a tool runner's own spans stay, without those of the calls", async () => {
  const { client, app, store } = setUp();
  instrument(client);
  const { spans } = await record(async () => {
    await client.beta.messages.toolRunner({ ...ASK, tools: [] });
    for await (const stream of client.beta.messages.toolRunner({ ...ASK, tools: [], stream: true })) {
      await stream.finalMessage();
    }
  });
  expect(spans.map(({ name }) => name)).toEqual(["openai.chat.completion", "openai.chat.completion"]);
  const calls = app.filter(({ name }) => name === "anthropic.messages.create");
  expect(calls).toHaveLength(2);
  expect(store.map(({ name }) => name)).toEqual(
    app.filter((span) => !calls.includes(span)).map(({ name }) => name),
  );
});

test("a client that is not instrumented has its spans in the rollout, and so has the app", async () => {
  const { client, store, tracer } = setUp();
  const other = instrument(setUp().client);
  await record(async () => {
    tracer.startSpan("mine").end();
    await Promise.all([other.messages.create(ASK), client.messages.create(ASK)]);
    tracer.startSpan("mine too").end();
  });
  expect(store.map(({ name }) => name)).toEqual(["mine", "anthropic.messages.create", "mine too"]);
});
