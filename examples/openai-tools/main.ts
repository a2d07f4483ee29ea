/**
 * The plain `openai` client in a rollout: a streamed loop with two tools at once, and a reward for one of its calls. Runs
 * by itself against a model server of its own; with a base URL as its argument it asks that server.
 *
 * @module
 */
import OpenAI from "openai";
import * as agl from "../../src/index.ts";
import { createMemorySink, serveModel, spanTree } from "../../src/testing/index.ts";
import { answer } from "./agent.ts";
import { reply } from "./model.ts";

const given = process.argv[2];
const server = given === undefined ? await serveModel({ reply }) : undefined;
const sink = createMemorySink();
agl.configure({ exporters: [sink] });
try {
  const openai = agl.instrument(new OpenAI({ baseURL: given ?? server?.url ?? "", apiKey: "none" }));
  const question = "How much warmer is Rome than Oslo?";
  const { value, reward } = await agl.rollout({ input: question, mode: "train" }, async ({ input }) => {
    const completions = await answer(openai, String(input));
    const [first] = completions;
    const both = first?.choices[0]?.message.tool_calls?.length === 2;
    // Of this very call, wherever in the rollout it is: it asked for all that it needed at once.
    if (first !== undefined) agl.emitReward({ "at once": both ? 1 : 0 }, { link: first, primaryKey: "at once" });
    const text = completions.at(-1)?.choices[0]?.message.content ?? "";
    agl.emitReward(text.includes("17 degrees") ? 1 : 0);
    return text;
  });
  await agl.flush();
  console.log(spanTree(sink.spans));
  const calls = sink.spans.filter((span) => span.name === "openai.chat.completion");
  const linked = sink.spans.flatMap(({ attributes }) => attributes["agentlightning.link.0.value_match"] ?? []);
  const place = calls.findIndex(({ attributes }) => linked.includes(String(attributes["gen_ai.response.id"])));
  console.log(`\n${value} Reward ${reward}; "at once" is a reward of model call ${place + 1} of ${calls.length}`);
} finally {
  await agl.shutdown();
  await server?.close();
}
