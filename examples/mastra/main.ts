/**
 * Agents of Mastra in a rollout: every model call is recorded once, with its token ids, under the agent that made it.
 * Runs by itself against a model server of its own; with a base URL as its argument it asks that server.
 *
 * @module
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as agl from "../../src/index.ts";
import { createMemorySink, serveModel, spanTree } from "../../src/testing/index.ts";
import { createPlanner } from "./agents.ts";
import { reply } from "./model.ts";

const given = process.argv[2];
const server = given === undefined ? await serveModel({ reply }) : undefined;
const sink = createMemorySink();
agl.configure({ exporters: [sink] });
try {
  const provider = createOpenAICompatible({ name: "vllm", baseURL: given ?? server?.url ?? "" });
  const planner = agl.instrument(createPlanner(provider("toy")));
  const { value, reward } = await agl.rollout({ input: "6 times 7", mode: "train" }, async ({ input }) => {
    const { textStream } = await planner.stream(String(input));
    let answer = "";
    for await (const piece of textStream) answer += piece;
    agl.emitReward(answer === "42" ? 1 : 0);
    return answer;
  });
  await agl.flush();
  console.log(spanTree(sink.spans));
  const calls = sink.spans.filter((span) => span.name === "openai.chat.completion");
  const trainable = calls.filter((span) => "response_token_ids" in span.attributes);
  console.log(
    `\nanswer ${value}, reward ${reward}; ${calls.length} model calls, ${trainable.length} with token ids`,
  );
} finally {
  await agl.shutdown();
  await server?.close();
}
