/**
 * LangGraph's functional API, `entrypoint` and `task`, and its graphs, on LangGraph 1.x and 0.4.
 */
import * as langgraph from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import * as v03 from "langchain-v03";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { emitReward } from "../../../src/capture/emit.ts";
import { instrument } from "../../../src/capture/instrument.ts";
import { openRuns } from "../../../src/capture/langchain/runs.ts";
import { agent as named } from "../../../src/capture/operation.ts";
import { type ModelServer, serveModel } from "../../../src/testing/model-server.ts";
import { lines, type Recorded, record, recordAll } from "./setup.ts";

let server: ModelServer;
beforeAll(async () => {
  server = await serveModel();
  instrument(ChatOpenAI);
  instrument(v03.openai.ChatOpenAI);
});
afterAll(() => server.close());

const LINES = [
  { name: "LangGraph 1.x", graphs: langgraph, Model: ChatOpenAI },
  // Of the same methods, as far as they are called here.
  {
    name: "LangGraph 0.4",
    graphs: v03.langgraph as unknown as typeof langgraph,
    Model: v03.openai.ChatOpenAI as unknown as typeof ChatOpenAI,
  },
];

const outcomes = ({ spans }: Recorded<unknown>) =>
  spans.map((span) => [span.name, span.attributes["agentlightning.outcome"]]);

describe.each(LINES)("$name", ({ graphs, Model }) => {
  const { Annotation, Command, END, entrypoint, interrupt, MemorySaver, START, StateGraph, task } = graphs;
  const ask = async (text: string) => {
    const configuration = { baseURL: server.url };
    const model = new Model({ model: "toy", apiKey: "none", maxRetries: 0, configuration });
    return String((await model.invoke(text)).content);
  };
  const plan = task("planner", (x: string) => ask(`plan ${x}`));
  const solve = task({ name: "solver" }, (x: string) => ask(`solve ${x}`));
  const team = entrypoint("team", async (x: string) => {
    const planned = await plan(x);
    return Promise.all([solve(planned), solve(x)]);
  });
  const TEAM = lines(
    "invoke_agent team [team]",
    "  node team [team]",
    "  node planner [planner]",
    "    openai.chat.completion [planner]",
    "  node solver [solver]",
    "    openai.chat.completion [solver]",
    "  node solver [solver]",
    "    openai.chat.completion [solver]",
  );

  test("an entrypoint is an agent, and each task one of its nodes", async () => {
    const plain = await team.invoke("x");
    const { tree, value, spans, open } = await record(() => team.invoke("x"), "train");
    expect(value).toEqual(plain);
    expect(value).toEqual(["You said: solve You said: plan x", "You said: solve x"]);
    expect([tree, open, openRuns()]).toEqual([TEAM, 0, 0]);
    const calls = spans.filter((span) => span.name === "openai.chat.completion");
    expect(calls.every((span) => "response_token_ids" in span.attributes)).toBe(true);
    expect(spans.map((span) => span.attributes["langchain.chain.type"]).filter(Boolean)).toEqual([
      "planner",
      "solver",
      "solver",
      "team",
      "team",
    ]);
  });

  test("six at once, and streamed", async () => {
    const all = await recordAll(Array.from({ length: 6 }, (_, i) => () => team.invoke(`q${i}`)));
    for (const [i, { tree, value, open }] of all.entries()) {
      expect([tree, open]).toEqual([TEAM, 0]);
      expect(value).toEqual([`You said: solve You said: plan q${i}`, `You said: solve q${i}`]);
    }
    const { tree } = await record(async () => {
      for await (const _ of await team.stream("x")) {
        // Read to the end.
      }
    });
    expect([tree, openRuns()]).toEqual([TEAM, 0]);
  });

  test("an interrupt is no error; what was done before it is not done again", async () => {
    const review = entrypoint({ name: "review", checkpointer: new MemorySaver() }, async (x: string) => {
      const planned = await plan(x);
      return `${planned}: ${interrupt("sure?")}`;
    });
    const config = { configurable: { thread_id: "1" } };
    const all = await record(async () => {
      await review.invoke("x", config);
      return review.invoke(new Command({ resume: "yes" }) as never, config);
    });
    expect(all.value).toBe("You said: plan x: yes");
    expect(outcomes(all)).toEqual([
      ["openai.chat.completion", "ok"],
      ["node planner", "ok"],
      ["node review", "ok"],
      ["invoke_agent review", "ok"],
      ["node review", "ok"],
      ["invoke_agent review", "ok"],
    ]);
    expect(all.spans[2]!.attributes["langgraph.control"]).toBe("GraphInterrupt");
    expect([all.open, openRuns()]).toEqual([0, 0]);
  });

  test("a task that fails: its error, the program's own, and no span left open", async () => {
    const error = new RangeError("no");
    const bad = task("bad", () => Promise.reject(error));
    const broken = entrypoint("broken", () => bad());
    const all = await record(() => broken.invoke("x").catch((reason: unknown) => reason));
    expect(all.value).toBe(error);
    expect(outcomes(all)[0]).toEqual(["node bad", "error"]);
    expect(outcomes(all).at(-1)).toEqual(["invoke_agent broken", "error"]);
    expect([all.open, openRuns()]).toEqual([0, 0]);
  });

  test("an agent that the program names around a task counts, and a reward belongs to its task", async () => {
    const judge = task("critic", async (x: string) => {
      emitReward(1);
      return x;
    });
    const flow = entrypoint("flow", async (x: string) => {
      await named("inner", () => solve(x));
      return judge(x);
    });
    const { tree } = await record(() => flow.invoke("x"));
    expect(tree).toBe(
      lines(
        "invoke_agent flow [flow]",
        "  node flow [flow]",
        "    invoke_agent inner [inner]",
        "      node solver [inner]",
        "        openai.chat.completion [inner]",
        "  node critic [critic]",
        "    agentlightning.annotation [critic]",
      ),
    );
  });

  test("a task in a node of a graph; the graph's stream, left", async () => {
    const State = Annotation.Root({ text: Annotation<string> });
    const graph = new StateGraph(State)
      .addNode("first", async ({ text }: { text: string }) => ({ text: await plan(text) }))
      .addNode("second", async ({ text }: { text: string }) => ({ text: await ask(text) }))
      .addEdge(START, "first")
      .addEdge("first", "second")
      .addEdge("second", END)
      .compile();
    const whole = await record(() => graph.invoke({ text: "x" }));
    expect(whole.tree).toBe(
      lines(
        "graph LangGraph",
        "  node first [first]",
        "  node planner [planner]",
        "    openai.chat.completion [planner]",
        "  node second [second]",
        "    openai.chat.completion [second]",
      ),
    );
    const left = await record(async () => {
      for await (const _ of await graph.stream({ text: "x" })) break;
    });
    expect(left.spans.filter((span) => span.name === "graph LangGraph")).toHaveLength(1);
    // LangGraph 0.4 runs the rest of a graph that nobody reads.
    await expect.poll(openRuns).toBe(0);
  });
});
