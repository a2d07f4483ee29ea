import { MockLanguageModelV4 } from "ai-v7/test";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { listenToRegistry } from "../../../src/capture/ai-sdk/registry.ts";
import { instrument } from "../../../src/capture/instrument.ts";
import { GenAi } from "../../../src/protocol/semconv.ts";
import { createGate } from "../../../src/testing/gate.ts";
import { spanTree } from "../../../src/testing/span-tree.ts";
import { record } from "../recorded.ts";
import { textOf } from "./scenario.ts";
import { type AnyModule, VERSIONS } from "./versions.ts";

const MODEL = "openai.chat.completion";
const bare = <T>(value: T): T => value;

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage };

/** A model that asks nobody; `gate` holds the end of its streams. */
function mock(gate?: Promise<void>, request: object = {}): AnyModule {
  return new MockLanguageModelV4({
    provider: "acme.messages",
    modelId: "acme-1",
    doGenerate: async () =>
      ({
        content: [{ type: "text", text: '{"city":"Rome"}' }],
        ...{ finishReason: finish.finishReason, usage, warnings: [], request },
      }) as AnyModule,
    doStream: async () =>
      ({
        request,
        stream: new ReadableStream({
          async start(controller) {
            controller.enqueue({ type: "stream-start", warnings: [] });
            controller.enqueue({ type: "text-start", id: "1" });
            controller.enqueue({ type: "text-delta", id: "1", delta: '{"city":"Rome"}' });
            await gate;
            controller.enqueue({ type: "text-end", id: "1" });
            controller.enqueue(finish);
            controller.close();
          },
        }),
      }) as AnyModule,
  });
}

let ai: AnyModule;
beforeAll(async () => {
  ({ ai } = await VERSIONS[2]!.load());
});

const schema = z.object({ city: z.string() });
const CALLS: ReadonlyArray<readonly [name: string, call: (ai: AnyModule, model: AnyModule) => unknown]> = [
  ["generateText", (ai, model) => ai.generateText({ model, prompt: "Hi" })],
  ["streamText", (ai, model) => textOf(ai.streamText({ model, prompt: "Hi" }).textStream)],
  ["generateObject", (ai, model) => ai.generateObject({ model, schema, prompt: "Hi" })],
  ["streamObject", (ai, model) => textOf(ai.streamObject({ model, schema, prompt: "Hi" }).textStream)],
];

describe.each([
  ["wrapped", instrument],
  ["not wrapped", bare],
])("version 7, %s: a model of another protocol", (how, wrap) => {
  beforeAll(() => {
    if (how === "not wrapped") listenToRegistry();
  });

  test.each(CALLS)("%s", async (_name, call) => {
    const { spans, outcomes, open } = await record(async () => void (await call(wrap(ai), mock())));
    expect(spanTree(spans)).toBe(MODEL);
    expect(outcomes).toEqual(["ok"]);
    expect(open).toBe(0);
    expect(spans[0]!.attributes).toMatchObject({
      [GenAi.ProviderName]: "acme",
      [GenAi.System]: "acme",
      [GenAi.RequestModel]: "acme-1",
      "gen_ai.prompt.0.content": "Hi",
      "gen_ai.completion.0.content": '{"city":"Rome"}',
      [GenAi.InputTokens]: 3,
      [GenAi.OutputTokens]: 1,
    });
  });

  test("an abort in a stream", async () => {
    const controller = new AbortController();
    const gate = createGate();
    const { outcomes } = await record(async () => {
      const abortSignal = controller.signal;
      const result = wrap(ai).streamText({ model: mock(gate.pass()), prompt: "Hi", abortSignal });
      for await (const part of result.fullStream) if (part.type === "text-delta") controller.abort();
    });
    gate.open();
    // The SDK's telemetry is not given the signal, and here there is no request that has it.
    expect(outcomes).toEqual([how === "wrapped" ? "aborted" : "cancelled"]);
  });

  test("a request that the provider has redacted for telemetry reaches the app whole", async () => {
    const body = Object.defineProperty(
      { model: "acme-1", key: "hidden" },
      Symbol.for("vercel.ai.telemetry.redact"),
      {
        value: () => ({ model: "acme-1" }),
      },
    );
    const { value, spans } = await record(async () => {
      const options = { model: mock(undefined, { body }), prompt: "Hi", include: { requestBody: true } };
      const result = wrap(ai).streamText(options);
      await result.consumeStream();
      const whole = await wrap(ai).generateText(options);
      return [(await result.request).body, whole.request.body];
    });
    for (const seen of value) expect(seen).toMatchObject({ key: "hidden" });
    expect(spans.map(({ name }) => name)).toEqual([MODEL, MODEL]);
    expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain("hidden");
  });
});

describe.each(VERSIONS.slice(1))("reranking, ai $major", ({ major, load }) => {
  test.each([["wrapped", instrument], ...(major === 7 ? ([["not wrapped", bare]] as const) : [])] as const)(
    "%s",
    async (how, wrap) => {
      if (how === "not wrapped") listenToRegistry();
      const model = {
        ...{ specificationVersion: `v${major - 3}`, provider: "acme.rerank", modelId: "rank-1" },
        doRerank: async () => ({ ranking: [{ index: 1, relevanceScore: 0.9 }], warnings: [] }),
      };
      const module = wrap((await load()).ai);
      const { value, spans, outcomes } = await record(() =>
        module.rerank({ model, query: "secret", documents: ["a", "b"] }),
      );
      expect((value as AnyModule).rerankedDocuments).toEqual(["b"]);
      expect(spanTree(spans)).toBe("rerank");
      expect(outcomes).toEqual(["ok"]);
      expect(spans[0]!.attributes).toMatchObject({
        [GenAi.OperationName]: "rerank",
        [GenAi.RequestModel]: "rank-1",
        [GenAi.ProviderName]: "acme",
      });
      expect(JSON.stringify(spans[0]!.attributes)).not.toContain("secret");
    },
  );
});

test("version 7, not wrapped: a stream of another protocol whose telemetry goes elsewhere has an end, and no answer", async () => {
  listenToRegistry();
  const { outcomes, open } = await record(() =>
    textOf(ai.streamText({ model: mock(), prompt: "Hi", telemetry: { integrations: [{}] } }).textStream),
  );
  expect(outcomes).toEqual(["incomplete"]);
  expect(open).toBe(0);
});
