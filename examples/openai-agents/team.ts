/**
 * A team of the OpenAI Agents SDK: a planner hands over to a solver with a tool, who hands over to a critic, who sends
 * the solver back once more. Nothing in here knows of Agent Lightning.
 *
 * @module
 */
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import { z } from "zod";

const multiply = tool({
  name: "multiply",
  description: "Multiplies two numbers.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => String(a * b),
});

/** Solves problems with the model "toy" of the server at `baseURL`. */
export function createTeam(baseURL: string): (problem: string) => Promise<string> {
  const model = "toy";
  const critic = new Agent({ name: "critic", model, instructions: "Judge the solver's answer." });
  const solver = new Agent({
    name: "solver",
    model,
    instructions: "Solve the problem as planned.",
    tools: [multiply],
    handoffs: [critic],
  });
  critic.handoffs.push(solver);
  const planner = new Agent({
    name: "planner",
    model,
    instructions: "Plan, then hand over.",
    handoffs: [solver],
  });
  const runner = new Runner({
    modelProvider: new OpenAIProvider({ baseURL, apiKey: "none", useResponses: false }),
  });
  return async (problem) => (await runner.run(planner, problem)).finalOutput ?? "";
}
