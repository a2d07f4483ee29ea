/**
 * Two agents of Mastra: a planner that has a solver as its sub-agent, and a solver that has a calculator. Nothing in here
 * knows of Agent Lightning.
 *
 * @module
 */
import { Agent, type AgentConfig } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const multiply = createTool({
  id: "multiply",
  description: "Multiplies two numbers",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => ({ product: a * b }),
});

/** A planner whose models are `model`. */
export function createPlanner(model: AgentConfig["model"]): Agent {
  const solver = new Agent({
    id: "solver",
    name: "solver",
    description: "Works out products",
    instructions: "You work out products with the calculator.",
    model,
    tools: { multiply },
  });
  return new Agent({
    id: "planner",
    name: "planner",
    instructions: "You hand the problem to the solver and tell its answer.",
    model,
    agents: { solver },
  });
}
