/**
 * Two agents of the Vercel AI SDK: a planner that has a solver as its tool, and a solver that has a calculator.
 *
 * @module
 */
import * as vercel from "ai";
import { z } from "zod";
// In an app of your own: import * as agl from "agentlightning".
import * as agl from "../../src/index.ts";

const ai = agl.instrument(vercel);

/** A planner whose models are `model`. The ids are the names that training selects by. */
export function createPlanner(model: vercel.LanguageModel) {
  const solver = new ai.ToolLoopAgent({
    id: "solver",
    model,
    instructions: "You work out products with the calculator.",
    tools: {
      multiply: ai.tool({
        description: "Multiplies two numbers",
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: ({ a, b }) => a * b,
      }),
    },
  });
  return new ai.ToolLoopAgent({
    id: "planner",
    model,
    instructions: "You hand the problem to the solver and tell its answer.",
    tools: {
      solve: ai.tool({
        description: "Has the solver work out a task",
        inputSchema: z.object({ task: z.string() }),
        execute: async ({ task }) => (await solver.generate({ prompt: task })).text,
      }),
    },
  });
}
