import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, Command, END, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { createAgent } from "langchain";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { z } from "zod";
import { instrument } from "../../../src/capture/instrument.ts";
import { openRuns } from "../../../src/capture/langchain/runs.ts";
import { agent as named } from "../../../src/capture/operation.ts";
import { currentScope } from "../../../src/trace/scope.ts";
import { chatOpenAI } from "./chat-openai.ts";
import { lines, record, recordAll } from "./setup.ts";

const toy = chatOpenAI({
  // A model that adds once, then answers.
  reply: ({ messages, tools }) =>
    tools.includes("add") && messages.at(-1)?.role !== "tool"
      ? { toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] }
      : { content: `said ${messages.at(-1)?.content}` },
});
const { modelOf } = toy;
const add = tool(async ({ a, b }: { a: number; b: number }) => String(a + b), {
  name: "add",
  description: "Adds two numbers",
  schema: z.object({ a: z.number(), b: z.number() }),
});

test("createAgent: an agent, its nodes, its model calls with its name, its tool", async () => {
  const agent = createAgent({ model: modelOf(), tools: [add], name: "math_agent" });
  const { tree, spans, value, open } = await record(
    () => agent.invoke({ messages: [new HumanMessage("1 + 2?")] }),
    "train",
  );
  expect(value.messages.at(-1)?.content).toBe("said 3");
  expect(open).toBe(0);
  expect(tree).toBe(
    lines(
      "invoke_agent math_agent [math_agent]",
      "  node model_request [math_agent]",
      "    openai.chat.completion [math_agent]",
      "    chain RunnableLambda [math_agent]",
      "  node tools [math_agent]",
      "    execute_tool add [math_agent]",
      "  node model_request [math_agent]",
      "    openai.chat.completion [math_agent]",
      "    chain RunnableLambda [math_agent]",
    ),
  );
  for (const call of spans.filter((span) => span.name === "openai.chat.completion")) {
    expect(call.attributes["response_token_ids"]).toEqual(expect.arrayContaining([expect.any(Number)]));
  }
  const tools = spans.filter((span) => span.name.startsWith("execute_tool"));
  expect(tools[0]!.attributes).toMatchObject({
    "gen_ai.tool.name": "add",
    "gen_ai.tool.call.arguments": '{"a":1,"b":2}',
    "gen_ai.tool.call.result": '"3"',
  });
});

const State = Annotation.Root({ text: Annotation<string> });
type Text = { text: string };
const ask =
  (label: string) =>
  async ({ text }: Text) => ({
    text: String((await modelOf().invoke(`${label}: ${text}`)).content),
  });
const team = () =>
  new StateGraph(State)
    .addNode("planner", ask("plan"))
    .addNode("solver", ask("solve"))
    .addNode("critic", ask("judge"))
    .addEdge(START, "planner")
    .addEdge("planner", "solver")
    .addEdge("solver", "critic")
    .addEdge("critic", END);

test("a graph of three agents: each call under its node, with the node's name", async () => {
  const { tree, spans } = await record(() => team().compile().invoke({ text: "x" }));
  expect(tree).toBe(
    lines(
      "graph LangGraph",
      "  node planner [planner]",
      "    openai.chat.completion [planner]",
      "  node solver [solver]",
      "    openai.chat.completion [solver]",
      "  node critic [critic]",
      "    openai.chat.completion [critic]",
    ),
  );
  expect(spans.map((span) => span.attributes["langchain.chain.type"]).filter(Boolean)).toEqual([
    "planner",
    "solver",
    "critic",
    "LangGraph",
  ]);
});

test("an agent that the program names around the graph counts, not the nodes", async () => {
  const { tree } = await record(() => named("team", () => team().compile().invoke({ text: "x" })));
  expect(tree.split("\n").every((line) => line.endsWith("[team]"))).toBe(true);
});

test("an agent that the program names inside a node counts for what it encloses", async () => {
  const graph = new StateGraph(State)
    .addNode("solver", (state: Text) => named("inner", () => ask("solve")(state)))
    .addEdge(START, "solver")
    .addEdge("solver", END)
    .compile();
  const { tree } = await record(() => graph.invoke({ text: "x" }));
  expect(tree).toBe(
    lines(
      "graph LangGraph",
      "  node solver [solver]",
      "    invoke_agent inner [inner]",
      "      openai.chat.completion [inner]",
    ),
  );
});

test("an agent that the program names inside a node names a graph that it calls there", async () => {
  const graph = new StateGraph(State)
    .addNode("outer", (state: Text) => named("inner", () => team().compile().invoke(state)))
    .addEdge(START, "outer")
    .addEdge("outer", END)
    .compile();
  const { tree } = await record(() => graph.invoke({ text: "x" }));
  expect(tree.split("\n").slice(0, 6)).toEqual([
    "graph LangGraph",
    "  node outer [outer]",
    "    invoke_agent inner [inner]",
    "      graph LangGraph [inner]",
    "        node planner [inner]",
    "          openai.chat.completion [inner]",
  ]);
});

test("agents as tools of an agent", async () => {
  const helper = createAgent({ model: modelOf(), tools: [], name: "helper" });
  const delegate = tool(
    async () =>
      String((await helper.invoke({ messages: [new HumanMessage("do")] })).messages.at(-1)?.content),
    { name: "add", description: "Asks the helper", schema: z.object({ a: z.number(), b: z.number() }) },
  );
  const boss = createAgent({ model: modelOf(), tools: [delegate], name: "boss" });
  const { tree } = await record(() => boss.invoke({ messages: [new HumanMessage("go")] }));
  expect(tree).toBe(
    lines(
      "invoke_agent boss [boss]",
      "  node model_request [boss]",
      "    openai.chat.completion [boss]",
      "    chain RunnableLambda [boss]",
      "  node tools [boss]",
      "    execute_tool add [boss]",
      "      invoke_agent helper [helper]",
      "        node model_request [helper]",
      "          openai.chat.completion [helper]",
      "  node model_request [boss]",
      "    openai.chat.completion [boss]",
      "    chain RunnableLambda [boss]",
    ),
  );
});

test("six agents at once: sixty spans in six rollouts", async () => {
  const agent = createAgent({ model: modelOf(), tools: [add], name: "math_agent" });
  const one = () => agent.invoke({ messages: [new HumanMessage("1 + 2?")] });
  const alone = (await record(one)).tree;
  const all = await recordAll(Array.from({ length: 6 }, () => one));
  for (const { tree, spans, open } of all) {
    expect(tree).toBe(alone);
    expect(open).toBe(0);
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  }
  // With the root of each rollout.
  expect(all.reduce((sum, { spans }) => sum + spans.length + 1, 0)).toBe(60);
  expect(openRuns()).toBe(0);
});

test("a limit on a model's calls mixes no rollouts", async () => {
  const model = modelOf({ maxConcurrency: 1 });
  const all = await recordAll(Array.from({ length: 6 }, (_, i) => () => model.invoke(`question ${i}`)));
  for (const [i, { spans }] of all.entries()) {
    expect(spans.map((span) => span.attributes["gen_ai.prompt.0.content"])).toEqual([`question ${i}`]);
  }
});

test("a tool's code and its own client run inside the tool's span", async () => {
  const openai = instrument(new OpenAI({ apiKey: "none", baseURL: toy.server.url }));
  const seen: unknown[] = [];
  const search = tool(
    async () => {
      seen.push(currentScope()?.span?.name);
      const answer = await openai.chat.completions.create({
        model: "toy",
        messages: [{ role: "user", content: "Hi" }],
      });
      return String(answer.choices[0]?.message.content);
    },
    { name: "search", description: "", schema: z.object({}) },
  );
  const { tree, value } = await record(() => search.invoke({}));
  expect(value).toBe("said Hi");
  expect(seen).toEqual(["execute_tool search"]);
  expect(tree).toBe(lines("execute_tool search", "  openai.chat.completion"));
});

test("a tool that throws is an error, and its error is the program's own", async () => {
  const error = new RangeError("no");
  const broken = tool(() => Promise.reject(error), { name: "broken", description: "", schema: z.object({}) });
  const { spans } = await record(async () => {
    await expect(broken.invoke({})).rejects.toBe(error);
  });
  expect(spans.map((span) => [span.attributes["agentlightning.outcome"], span.status.message])).toEqual([
    ["error", "no"],
  ]);
});

test("interrupts are not errors", async () => {
  const graph = new StateGraph(State)
    .addNode("human", ({ text }: Text) => ({ text: `${text} ${interrupt("sure?")}` }))
    .addEdge(START, "human")
    .addEdge("human", END)
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "1" } };
  const { spans, value, open } = await record(async () => {
    await graph.invoke({ text: "go" }, config);
    return graph.invoke(new Command({ resume: "yes" }), config);
  });
  expect(value.text).toBe("go yes");
  expect(open).toBe(0);
  expect(spans.map((span) => [span.name, span.attributes["agentlightning.outcome"]])).toEqual([
    ["node human", "ok"],
    ["graph LangGraph", "ok"],
    ["node human", "ok"],
    ["graph LangGraph", "ok"],
  ]);
  expect(spans[0]!.attributes["langgraph.control"]).toBe("GraphInterrupt");
});

test("a graph inside a node, and its command for the graph around it", async () => {
  const inner = new StateGraph(State)
    .addNode("leave", () => new Command({ goto: "last", graph: Command.PARENT, update: { text: "left" } }))
    .addEdge(START, "leave")
    .compile();
  const graph = new StateGraph(State)
    .addNode("first", inner, { ends: ["last"] })
    .addNode("last", ({ text }: Text) => ({ text: `${text}!` }))
    .addEdge(START, "first")
    .addEdge("last", END)
    .compile();
  const { spans, value, tree, open } = await record(() => graph.invoke({ text: "x" }));
  expect(value.text).toBe("left!");
  expect(open).toBe(0);
  expect(openRuns()).toBe(0);
  expect(spans.every((span) => span.attributes["agentlightning.outcome"] === "ok")).toBe(true);
  expect(tree).toBe(
    lines(
      "graph LangGraph",
      "  node first [first]",
      "    graph LangGraph [first]",
      "      node leave [leave]",
      "  node last [last]",
    ),
  );
});

test("the messages of a stream: still one span a call", async () => {
  const { tree } = await record(async () => {
    for await (const _ of await team().compile().stream({ text: "x" }, { streamMode: "messages" })) {
      // Read to the end.
    }
  });
  expect(tree.match(/openai\.chat\.completion/g)).toHaveLength(3);
});

test("a graph's stream that is left is ended with the rollout", async () => {
  const { spans } = await record(async () => {
    for await (const _ of await team().compile().stream({ text: "x" })) break;
  });
  expect(spans.find((span) => span.name === "node planner")!.attributes["agentlightning.outcome"]).toBe("ok");
  expect(spans.filter((span) => span.name === "graph LangGraph")).toHaveLength(1);
  expect(openRuns()).toBe(0);
});
