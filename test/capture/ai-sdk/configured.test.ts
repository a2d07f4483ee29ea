import { createOpenAICompatible } from "ai-compatible-v7";
import * as ai from "ai-v7";
import { expect, test } from "vitest";
import * as agl from "../../../src/index.ts";
import { createMemorySink } from "../../../src/testing/memory-sink.ts";
import { serveModel } from "../../../src/testing/model-server.ts";
import { spanTree } from "../../../src/testing/span-tree.ts";

test("version 7 is recorded once the package is configured, with nothing wrapped", async () => {
  const server = await serveModel({ reply: "Hello" });
  const sink = createMemorySink();
  agl.configure({ exporters: [sink] });
  try {
    const model = createOpenAICompatible({ name: "toy", baseURL: server.url })("toy");
    const answer = await agl.rollout({ input: "Hi", mode: "train" }, async ({ input }) => {
      const telemetry = { functionId: "greeter" };
      return (await ai.generateText({ model, prompt: String(input), telemetry })).text;
    });
    expect(answer.value).toBe("Hello");
    await agl.flush();
    expect(spanTree(sink.spans)).toBe(
      "agentlightning.rollout\n  invoke_agent greeter [greeter]\n    openai.chat.completion [greeter]",
    );
    expect(sink.spans.find(({ name }) => name === "openai.chat.completion")?.attributes).toHaveProperty(
      "response_token_ids",
      server.requests[0]?.answer?.choices[0]?.ids,
    );
  } finally {
    await agl.shutdown();
    await server.close();
  }
});
