/**
 * Agents of the Vercel AI SDK in a rollout: every model call is recorded once, with its token ids, under the agent that
 * made it. Runs by itself against a model server of its own; with a base URL as its argument it asks that server.
 *
 * @module
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as agl from "../../src/index.ts";
import { openStage } from "../stage.ts";
import { createPlanner } from "./agents.ts";
import { reply } from "./model.ts";

const stage = await openStage(reply);
try {
  const provider = createOpenAICompatible({ name: "vllm", baseURL: stage.baseURL });
  const planner = createPlanner(provider("toy"));
  const result = await agl.rollout({ input: "6 times 7", mode: "train" }, async ({ input }) => {
    const { textStream } = await planner.stream({ prompt: String(input) });
    let answer = "";
    for await (const piece of textStream) answer += piece;
    agl.emitReward(answer === "42" ? 1 : 0);
    return answer;
  });
  await stage.show(result);
} finally {
  await stage.close();
}
