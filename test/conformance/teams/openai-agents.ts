/**
 * The team as agents of the OpenAI Agents SDK that hand over to each other.
 *
 * @module
 */
import * as agents from "@openai/agents";
import { z } from "zod";
import * as agl from "../../../src/index.ts";
import { type AgentName, instructions, multiply, type Run, type Team } from "./team.ts";

function createPlanner(run: Run) {
  const create = (name: AgentName, more: object = {}) =>
    new agents.Agent({ name, model: "toy", instructions: instructions(name), ...more });
  const critic = create("critic");
  const solver = create("solver", {
    handoffs: [agents.handoff(critic, { onHandoff: () => run.solved() })],
    tools: [
      agents.tool({
        name: "multiply",
        description: "Multiplies",
        parameters: z.object({ a: z.number(), b: z.number() }),
        execute: multiply,
      }),
    ],
  });
  critic.handoffs.push(solver);
  return create("planner", { handoffs: [solver] });
}

export const openaiAgents: Team = {
  name: "OpenAI Agents",
  orders: ["turns"],
  async open(baseURL) {
    agl.instrument(agents);
    const modelProvider = new agents.OpenAIProvider({ baseURL, apiKey: "key", useResponses: false });
    const runner = new agents.Runner({ modelProvider, tracingDisabled: true });
    return async (run) => {
      const planner = createPlanner(run);
      if (!run.streamed) return runner.run(planner, "6 times 7?");
      const result = await runner.run(planner, "6 times 7?", { stream: true });
      for await (const _ of result);
    };
  },
};
