/**
 * The team as a graph of LangGraph: planner and critic are nodes that ask the model, the solver is an agent in a node.
 *
 * @module
 */
import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { z } from "zod";
import * as agl from "../../../src/index.ts";
import { type AgentName, instructions, multiply, type Run, type Team } from "./team.ts";

const State = Annotation.Root({
  plan: Annotation<string>,
  answer: Annotation<string>,
  verdict: Annotation<string>,
});

function createGraph(model: ChatOpenAI, run: Run) {
  const solver = createAgent({
    model,
    name: "solver",
    systemPrompt: instructions("solver"),
    tools: [
      tool(multiply, {
        name: "multiply",
        description: "Multiplies",
        schema: z.object({ a: z.number(), b: z.number() }),
      }),
    ],
  });
  const ask = async (name: AgentName, text: string) => {
    const messages = [new SystemMessage(instructions(name)), new HumanMessage(text)];
    return String((await model.invoke(messages)).content);
  };
  const graph = new StateGraph(State)
    .addNode("planner", async () => ({ plan: await ask("planner", "6 times 7?") }))
    .addNode("solver", async ({ plan, verdict }) => {
      const { messages } = await solver.invoke({ messages: [new HumanMessage(`${plan} ${verdict ?? ""}`)] });
      run.solved();
      return { answer: String(messages.at(-1)?.content) };
    })
    .addNode("critic", async ({ answer }) => ({ verdict: await ask("critic", answer ?? "42") }))
    .addEdge(START, "planner")
    .addEdge("planner", "solver");
  if (run.order === "together") {
    return graph.addEdge("planner", "critic").addEdge("solver", END).addEdge("critic", END).compile();
  }
  return graph
    .addEdge("solver", "critic")
    .addConditionalEdges("critic", ({ verdict }) => (verdict === "right" ? END : "solver"))
    .compile();
}

export const langGraph: Team = {
  name: "LangGraph",
  orders: ["turns", "together"],
  async open(baseURL) {
    agl.instrument(ChatOpenAI);
    const model = new ChatOpenAI({ model: "toy", apiKey: "key", configuration: { baseURL } });
    return async (run) => {
      const graph = createGraph(model, run);
      if (!run.streamed) return graph.invoke({});
      // Whoever wants the messages of a graph makes all of its models stream.
      for await (const _ of await graph.stream({}, { streamMode: "messages" }));
    };
  },
};
