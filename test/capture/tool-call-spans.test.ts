import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { instrument } from "../../src/capture/instrument.ts";
import { type ModelServer, serveModel } from "../../src/testing/index.ts";
import { record } from "./recorded.ts";

let model: ModelServer;
beforeAll(async () => {
  model = await serveModel({
    reply: {
      toolCalls: [
        { name: "add", arguments: { a: 1 }, id: "c1" },
        { name: "sub", arguments: '{"b":', id: "c2" },
      ],
    },
  });
});
afterAll(() => model.close());

test.each([false, true])(
  "each tool call of an answer is a span below the call (stream: %s)",
  async (stream) => {
    const client = instrument(new OpenAI({ apiKey: "key", baseURL: model.url }));
    const { spans, toolCalls } = await record(async () => {
      const answer = await client.chat.completions.create({
        model: "toy",
        messages: [{ role: "user", content: "Hi" }],
        stream,
      });
      if (Symbol.asyncIterator in answer) for await (const _ of answer);
    });
    expect(spans.map((span) => span.name)).toEqual(["openai.chat.completion"]);
    const parent = spans[0]?.spanContext();
    const own = (name: string) => name.startsWith("tool.");
    expect(
      toolCalls.map((span) => [
        span.name,
        span.parentSpanContext?.spanId === parent?.spanId,
        span.spanContext().traceId === parent?.traceId,
        Object.fromEntries(Object.entries(span.attributes).filter(([name]) => own(name))),
      ]),
    ).toEqual([
      [
        "tool_call.add",
        true,
        true,
        {
          "tool.name": "add",
          "tool.parameters": '{"a":1}',
          "tool.call.id": "c1",
          "tool.call.type": "function",
        },
      ],
      [
        "tool_call.sub",
        true,
        true,
        {
          "tool.name": "sub",
          "tool.parameters": '{"b":',
          "tool.call.id": "c2",
          "tool.call.type": "function",
        },
      ],
    ]);
  },
);

test("an answer without tool calls, or one that was cut off, has none", async () => {
  const cut = await serveModel({
    reply: [{ content: "x" }, { toolCalls: [{ name: "add" }], fault: { cut: { after: 2, how: "reset" } } }],
  });
  const client = instrument(new OpenAI({ apiKey: "key", baseURL: cut.url, maxRetries: 0 }));
  const { toolCalls } = await record(async () => {
    const body = { model: "toy", messages: [{ role: "user" as const, content: "Hi" }] };
    await client.chat.completions.create(body);
    await (async () => {
      for await (const _ of await client.chat.completions.create({ ...body, stream: true }));
    })().catch(() => {});
  });
  expect(toolCalls).toEqual([]);
  await cut.close();
});
