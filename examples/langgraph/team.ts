/**
 * A team as a LangGraph: a planner, a solver with a tool, and a critic who sends the solver back once more. Nothing in
 * here knows of Agent Lightning.
 *
 * @module
 */
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { z } from "zod";

const State = Annotation.Root({
  problem: Annotation<string>,
  plan: Annotation<string>,
  answer: Annotation<string>,
  verdict: Annotation<string>,
});

const multiply = tool(async ({ a, b }: { a: number; b: number }) => String(a * b), {
  name: "multiply",
  description: "Multiplies two numbers.",
  schema: z.object({ a: z.number(), b: z.number() }),
});

/** The compiled graph; `model` answers for all three. */
export function createTeam(model: ChatOpenAI) {
  const solver = createAgent({ model, tools: [multiply], name: "solver" });
  const ask = async (text: string) => String((await model.invoke(text)).content);
  return new StateGraph(State)
    .addNode("planner", async ({ problem }) => ({ plan: await ask(`Plan: ${problem}`) }))
    .addNode("solver", async ({ plan, verdict }) => {
      const task = verdict === undefined ? plan : `${plan} (${verdict})`;
      const { messages } = await solver.invoke({ messages: [new HumanMessage(task)] });
      return { answer: String(messages.at(-1)?.content) };
    })
    .addNode("critic", async ({ problem, answer }) => ({
      verdict: await ask(`Judge: ${problem} = ${answer}`),
    }))
    .addEdge(START, "planner")
    .addEdge("planner", "solver")
    .addEdge("solver", "critic")
    .addConditionalEdges("critic", ({ verdict }) => (verdict === "right" ? END : "solver"))
    .compile();
}
