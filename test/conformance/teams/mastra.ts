/**
 * The team as agents of Mastra: the planner has the two others in its tools.
 *
 * @module
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent, type AgentConfig } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import * as agl from "../../../src/index.ts";
import { type AgentName, instructions, multiply, type Run, type Team, TOGETHER } from "./team.ts";

function createPlanner(model: AgentConfig["model"], run: Run) {
  const create = (name: AgentName, tools: NonNullable<AgentConfig["tools"]>) =>
    agl.instrument(new Agent({ id: name, name, instructions: instructions(name), model, tools }));
  const ask = async (agent: Agent, prompt: string): Promise<string> => {
    if (!run.streamed) return (await agent.generate(prompt)).text;
    let text = "";
    for await (const piece of (await agent.stream(prompt)).textStream) text += piece;
    return text;
  };
  const description = "A tool";
  const solver = create("solver", {
    multiply: createTool({
      id: "multiply",
      description,
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: async (input) => multiply(input),
    }),
  });
  const critic = create("critic", {});
  const planner = create("planner", {
    solve: createTool({
      id: "solve",
      description,
      inputSchema: z.object({ task: z.string() }),
      execute: async ({ task }) => {
        const answer = await ask(solver, task);
        run.solved();
        // A planner that asked for both at once is not to start over.
        return run.order === "together" ? "right" : answer;
      },
    }),
    check: createTool({
      id: "check",
      description,
      inputSchema: z.object({ answer: z.string() }),
      execute: ({ answer }) => ask(critic, answer),
    }),
  });
  return () => ask(planner, run.order === "together" ? TOGETHER : "6 times 7?");
}

export const mastra: Team = {
  name: "Mastra",
  orders: ["turns", "together"],
  async open(baseURL) {
    const model = createOpenAICompatible({ name: "vllm", baseURL })("toy");
    return (run) => createPlanner(model, run)();
  },
};
