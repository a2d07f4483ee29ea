/**
 * The plain `openai` client in a rollout: a streamed loop with two tools at once, and a reward for one of its calls. Runs
 * by itself against a model server of its own; with a base URL as its argument it asks that server.
 *
 * @module
 */
import OpenAI from "openai";
import * as agl from "../../src/index.ts";
import { openStage } from "../stage.ts";
import { answer } from "./agent.ts";
import { reply } from "./model.ts";

const stage = await openStage(reply);
try {
  const openai = agl.instrument(new OpenAI({ baseURL: stage.baseURL, apiKey: "none" }));
  const input = "How much warmer is Rome than Oslo?";
  const result = await agl.rollout({ input, mode: "train" }, async () => {
    const completions = await answer(openai, input);
    const [first] = completions;
    const both = first?.choices[0]?.message.tool_calls?.length === 2;
    // Of this very call, wherever in the rollout it is: it asked for all that it needed at once.
    if (first !== undefined) {
      agl.emitReward({ "at once": both ? 1 : 0 }, { link: first, primaryKey: "at once" });
    }
    const text = completions.at(-1)?.choices[0]?.message.content ?? "";
    agl.emitReward(text.includes("17 degrees") ? 1 : 0);
    return text;
  });
  await stage.show(result);
  const calls = stage.spans.filter((span) => span.name === "openai.chat.completion");
  const linked = stage.spans.flatMap(
    ({ attributes }) => attributes["agentlightning.link.0.value_match"] ?? [],
  );
  const place = calls.findIndex(({ attributes }) =>
    linked.includes(String(attributes["gen_ai.response.id"])),
  );
  console.log(`"at once" is a reward of model call ${place + 1}`);
} finally {
  await stage.close();
}
