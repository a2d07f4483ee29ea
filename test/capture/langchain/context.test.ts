import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import { RunnableLambda } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { beforeAll, expect, test } from "vitest";
import { emitReward } from "../../../src/capture/emit.ts";
import { instrument } from "../../../src/capture/instrument.ts";
import { currentScope } from "../../../src/trace/scope.ts";
import { lines, record, recordAll } from "./setup.ts";

beforeAll(() => {
  instrument(FakeListChatModel);
});

const fake = () => new FakeListChatModel({ responses: ["hi"] });

test("the program's own storage is what it is without us, in code and in awaited callbacks", async () => {
  const storage = new AsyncLocalStorage<number>();
  const run = async (i: number) => {
    const seen: unknown[] = [];
    const see = () => void seen.push(storage.getStore());
    const chain = RunnableLambda.from(async (x: string) => {
      see();
      return (await fake().invoke(x)).content;
    });
    const handler = { awaitHandlers: true, handleChainStart: see, handleLLMEnd: see, handleChainEnd: see };
    await storage.run(i, () => chain.invoke("x", { callbacks: [handler] }));
    return seen;
  };
  const all = await recordAll(Array.from({ length: 8 }, (_, i) => () => run(i)));
  for (const [i, { value, tree }] of all.entries()) {
    expect(value).toEqual([i, i, i, i]);
    expect(tree).toBe(lines("chain RunnableLambda", "  openai.chat.completion"));
  }
});

test("a callback that runs a chain itself belongs to the run that it is told of", async () => {
  const inner = RunnableLambda.from(() => 1).withConfig({ runName: "inner" });
  const handler = { awaitHandlers: true, handleChainEnd: async () => void (await inner.invoke("x")) };
  const chain = RunnableLambda.from(() => 2).withConfig({ runName: "outer" });
  const { tree } = await record(() => chain.invoke("x", { callbacks: [handler] }));
  expect(tree.split("\n").sort()).toEqual(["chain inner", "chain outer"]);
});

test("a reward given in a node belongs to the node", async () => {
  const State = Annotation.Root({ text: Annotation<string> });
  const graph = new StateGraph(State)
    .addNode("critic", () => {
      emitReward(1);
      return { text: "good" };
    })
    .addEdge(START, "critic")
    .addEdge("critic", END)
    .compile();
  const { tree } = await record(() => graph.invoke({ text: "x" }));
  expect(tree).toBe(
    lines("graph LangGraph", "  node critic [critic]", "    agentlightning.annotation [critic]"),
  );
});

test("nothing of a run's scope is left when it is done", async () => {
  const { value } = await record(async () => {
    const before = currentScope()?.span;
    await RunnableLambda.from(() => 1).invoke("x");
    for await (const _ of await fake().stream("x")) expect(currentScope()?.span).toBe(before);
    return currentScope()?.span === before;
  });
  expect(value).toBe(true);
});

test("LangSmith's traceable functions, with its tracing off, take nothing out of the rollout", async () => {
  const require = createRequire(import.meta.resolve("@langchain/core/runnables"));
  const { traceable }: { traceable: <F>(fn: F, options: object) => F } = require("langsmith/traceable");
  const chain = RunnableLambda.from(async (x: string) => (await fake().invoke(x)).content);
  const traced = traceable((x: string) => chain.invoke(x), { name: "mine", tracingEnabled: false });
  const { tree, value } = await record(() => RunnableLambda.from((x: string) => traced(x)).invoke("x"));
  expect(value).toBe("hi");
  expect(tree).toBe(lines("chain RunnableLambda", "  chain RunnableLambda", "    openai.chat.completion"));
});
