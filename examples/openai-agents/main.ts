/**
 * A team of the OpenAI Agents SDK in a rollout: every model call is recorded once, with its token ids, under the agent
 * that made it. Runs by itself against a model server of its own; with a base URL as its argument it asks that server.
 *
 * @module
 */
import * as agents from "@openai/agents";
// In an app of your own: import * as agl from "agentlightning".
import * as agl from "../../src/index.ts";
import { openStage } from "../stage.ts";
import { reply } from "./model.ts";
import { createTeam } from "./team.ts";

agl.instrument(agents);
// Nothing is uploaded to OpenAI; what Agent Lightning records does not depend on it.
agents.setTracingDisabled(true);

const stage = await openStage(reply);
try {
  const solve = createTeam(stage.baseURL);
  const result = await agl.rollout({ input: "6 times 7", mode: "train" }, async ({ input }) => {
    const answer = await solve(String(input));
    agl.emitReward(answer === "42" ? 1 : 0);
    return answer;
  });
  await stage.show(result);
} finally {
  await stage.close();
}
