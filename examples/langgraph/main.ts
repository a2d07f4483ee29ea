/**
 * A LangGraph team in a rollout: every model call is recorded once, with its token ids, under the agent that made it.
 * Runs by itself against a model server of its own; with a base URL as its argument it asks that server.
 *
 * @module
 */
import { ChatOpenAI } from "@langchain/openai";
// In an app of your own: import * as agl from "agentlightning".
import * as agl from "../../src/index.ts";
import { openStage } from "../stage.ts";
import { reply } from "./model.ts";
import { createTeam } from "./team.ts";

agl.instrument(ChatOpenAI);

const stage = await openStage(reply);
try {
  const { baseURL } = stage;
  const model = new ChatOpenAI({ model: "toy", apiKey: "none", configuration: { baseURL } });
  const team = createTeam(model);
  const result = await agl.rollout({ input: "6 times 7", mode: "train" }, async ({ input }) => {
    const { answer } = await team.invoke({ problem: String(input) });
    agl.emitReward(answer === "42" ? 1 : 0);
    return answer;
  });
  await stage.show(result);
} finally {
  await stage.close();
}
