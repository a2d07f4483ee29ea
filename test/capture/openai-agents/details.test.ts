import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { emitReward } from "../../../src/capture/emit.ts";
import { instrument } from "../../../src/capture/instrument.ts";
import { agent as named } from "../../../src/capture/operation.ts";
import { type ModelServer, serveModel } from "../../../src/testing/model-server.ts";
import { currentScope } from "../../../src/trace/scope.ts";
import { lines, record, recordAll } from "../langchain/setup.ts";
import { adder } from "./scenarios.ts";
import { BUILDS } from "./stage.ts";

const agents = BUILDS.esm;
let server: ModelServer;
beforeAll(async () => {
  server = await serveModel({
    reply: ({ messages, tools }) =>
      tools.includes("add") && messages.at(-1)?.role !== "tool"
        ? { toolCalls: [{ name: "add", arguments: { a: 1, b: 2 }, id: "call-1" }] }
        : { content: `said ${messages.at(-1)?.content}` },
  });
  instrument(agents);
});
beforeEach(() => agents.setTracingDisabled(false));
afterAll(() => server.close());

const runnerOf = (config: object = {}) =>
  new agents.Runner({
    modelProvider: new agents.OpenAIProvider({ apiKey: "none", baseURL: server.url, useResponses: false }),
    ...config,
  });
const solverOf = (more: object = {}) =>
  new agents.Agent({ name: "solver", model: "toy", tools: [adder(agents, more)] });

test("attributes of agents, tools and hand-offs", async () => {
  const critic = new agents.Agent({ name: "critic", model: "toy" });
  const transfer = agents.handoff(critic, { toolNameOverride: "add", inputType: undefined as never });
  const lead = new agents.Agent({ name: "lead", model: "toy", handoffs: [transfer] });
  const both = await record(async () => {
    await runnerOf().run(solverOf(), "1 + 2?");
    await runnerOf().run(lead, "go");
  }, "train");
  const byName = (name: string) => {
    const { attributes } = both.spans.find((span) => span.name === name)!;
    return Object.fromEntries(
      Object.entries(attributes).filter(([key]) => !key.startsWith("agentlightning.")),
    );
  };
  expect(byName("invoke_agent solver")).toEqual({
    "agent.name": "solver",
    "gen_ai.agent.name": "solver",
    "gen_ai.operation.name": "invoke_agent",
    "openai.agents.tools": ["add"],
    "openai.agents.handoffs": [],
    "openai.agents.output_type": "text",
  });
  expect(byName("execute_tool add")).toEqual({
    "agent.name": "solver",
    "gen_ai.agent.name": "solver",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "add",
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": "call-1",
    "gen_ai.tool.call.arguments": '{"a":1,"b":2}',
    "gen_ai.tool.call.result": '"3"',
  });
  expect(byName("handoff lead")).toEqual({
    "agent.name": "lead",
    "gen_ai.agent.name": "lead",
    "openai.agents.from_agent": "lead",
    "openai.agents.to_agent": "critic",
  });
  for (const call of both.spans.filter((span) => span.name === "openai.chat.completion")) {
    expect(call.attributes["response_token_ids"]).toEqual(expect.arrayContaining([expect.any(Number)]));
    expect(call.attributes["prompt_token_ids"]).toEqual(expect.arrayContaining([expect.any(Number)]));
  }
  const [invoke, tool] = ["invoke_agent solver", "execute_tool add"].map(
    (name) => both.spans.find((span) => span.name === name)!,
  );
  const at = (time: readonly [number, number]) => time[0] * 1e9 + time[1];
  expect(at(tool!.startTime)).toBeGreaterThan(at(invoke!.startTime));
  expect(at(tool!.endTime)).toBeLessThan(at(invoke!.endTime));
});

test.each([false, true])("what a tool calls nests under it (tracing off: %s)", async (off) => {
  agents.setTracingDisabled(off);
  const openai = instrument(new OpenAI({ apiKey: "none", baseURL: server.url }));
  const ask = () =>
    openai.chat.completions.create({ model: "toy", messages: [{ role: "user", content: "Hi" }] });
  const helper = new agents.Agent({ name: "helper", model: "toy" });
  const execute = async () => {
    await ask();
    emitReward(1);
    await named("inner", async () => {
      await ask();
      await runnerOf().run(helper, "help");
    });
    return "3";
  };
  const { tree, open } = await record(() => runnerOf().run(solverOf({ execute }), "go"));
  expect(tree).toBe(
    lines(
      "invoke_agent solver [solver]",
      "  openai.chat.completion [solver]",
      "  execute_tool add [solver]",
      "    openai.chat.completion [solver]",
      "    agentlightning.annotation [solver]",
      "    invoke_agent inner [inner]",
      "      openai.chat.completion [inner]",
      "      invoke_agent helper [helper]",
      "        openai.chat.completion [helper]",
      "  openai.chat.completion [solver]",
    ),
  );
  expect(open).toBe(0);
});

test("an agent that the program names around a run holds the run's agents", async () => {
  const { tree } = await record(() => named("team", () => runnerOf().run(solverOf(), "go")));
  expect(tree.split("\n").slice(0, 3)).toEqual([
    "invoke_agent team [team]",
    "  invoke_agent solver [solver]",
    "    openai.chat.completion [solver]",
  ]);
});

test("the scope after a run is the one before it", async () => {
  await record(async () => {
    const before = currentScope();
    await runnerOf().run(solverOf(), "go");
    expect(currentScope()).toBe(before);
    const result = await runnerOf().run(solverOf(), "go", { stream: true });
    expect(currentScope()).toBe(before);
    for await (const _ of result) expect(currentScope()).toBe(before);
  });
});

test.each([
  ["traced", {}],
  ["without the spans of tasks and turns", { tracing: { includeTaskAndTurnSpans: false } }],
] as const)("an interruption that nobody resumes leaves no open span: %s", async (_, config) => {
  const { spans, open } = await record(async () => {
    const whole = await runnerOf(config).run(solverOf({ needsApproval: true }), "go");
    const stream = await runnerOf(config).run(solverOf({ needsApproval: true }), "go", { stream: true });
    await stream.completed;
    return [whole, stream].map(({ interruptions }) => interruptions.length);
  });
  expect(open).toBe(0);
  expect(spans.map(({ attributes }) => attributes["agentlightning.outcome"])).toEqual([
    "ok",
    "ok",
    "ok",
    "ok",
  ]);
});

test("a runner that is not traced: agents and model calls as ever, tools beside what they call", async () => {
  const openai = instrument(new OpenAI({ apiKey: "none", baseURL: server.url }));
  const execute = async () => {
    const messages = [{ role: "user" as const, content: "Hi" }];
    await openai.chat.completions.create({ model: "toy", messages });
    return "3";
  };
  const { tree, open, spans } = await record(async () => {
    await runnerOf({ tracingDisabled: true }).run(solverOf({ execute }), "go");
    await runnerOf({ tracingDisabled: true }).run(solverOf({ needsApproval: true }), "go");
  });
  expect(tree).toBe(
    lines(
      "invoke_agent solver [solver]",
      "  openai.chat.completion [solver]",
      "  execute_tool add [solver]",
      "  openai.chat.completion [solver]",
      "  openai.chat.completion [solver]",
      "invoke_agent solver [solver]",
      "  openai.chat.completion [solver]",
    ),
  );
  expect(open).toBe(0);
  const { attributes } = spans.find((span) => span.name === "execute_tool add")!;
  expect(attributes).toMatchObject({
    "gen_ai.tool.call.id": "call-1",
    "gen_ai.tool.call.arguments": '{"a":1,"b":2}',
    "gen_ai.tool.call.result": '"3"',
  });
});

test.each([
  [false, false],
  [false, true],
  [true, false],
] as const)(
  "a run that must not tell its data (streamed: %s, not traced: %s)",
  async (stream, tracingDisabled) => {
    const runner = runnerOf({ traceIncludeSensitiveData: false, tracingDisabled });
    const { spans, tree, open } = await record(async () => {
      const result = await runner.run(solverOf(), "secret 7777", { stream } as { stream: true });
      if (stream) await result.completed;
      await expect(
        runner.run(
          solverOf({ execute: () => Promise.reject(new Error("secret 7777")), errorFunction: null }),
          "go",
        ),
      ).rejects.toThrow();
    }, "train");
    expect(tree.match(/openai\.chat\.completion/g)).toHaveLength(3);
    expect(open).toBe(0);
    const said = JSON.stringify(spans.map(({ attributes, events, status }) => [attributes, events, status]));
    expect(said).not.toContain("7777");
    expect(said).not.toContain('"said');
    expect(said).not.toMatch(/token_ids|logprobs|call\.arguments|call\.result/);
    const call = spans.find((span) => span.name === "openai.chat.completion")!;
    expect(call.attributes).toMatchObject({
      "agent.name": "solver",
      "gen_ai.usage.input_tokens": expect.any(Number),
      "gen_ai.response.finish_reasons": ["tool_calls"],
      "gen_ai.request.model": "toy",
    });
  },
);

test.each([false, true])(
  "forty rollouts at once, of two builds: none mixes (tracing off: %s)",
  async (off) => {
    agents.setTracingDisabled(off);
    const builds = [agents, instrument(BUILDS.cjs)];
    const one = (i: number) => async () => {
      const build = builds[i % 2]!;
      const modelProvider = new build.OpenAIProvider({
        apiKey: "none",
        baseURL: server.url,
        useResponses: i % 4 < 2,
      });
      const runner = new build.Runner({ modelProvider });
      const solver = new build.Agent({ name: `solver-${i}`, model: "toy", tools: [adder(build)] });
      if (i % 3 > 0) return (await runner.run(solver, `task ${i}`)).finalOutput;
      const result = await runner.run(solver, `task ${i}`, { stream: true });
      for await (const _ of result) await new Promise(setImmediate);
      return result.finalOutput;
    };
    const all = await recordAll(Array.from({ length: 40 }, (_, i) => one(i)));
    for (const [i, { tree, spans, open, value }] of all.entries()) {
      expect(value).toBe("said 3");
      expect(open).toBe(0);
      expect(tree).toBe(
        lines(
          `invoke_agent solver-${i} [solver-${i}]`,
          `  openai.chat.completion [solver-${i}]`,
          `  execute_tool add [solver-${i}]`,
          `  openai.chat.completion [solver-${i}]`,
        ),
      );
      const calls = spans.filter((span) => span.name === "openai.chat.completion");
      expect(calls.map((span) => span.attributes["gen_ai.prompt.0.content"])).toEqual([
        `task ${i}`,
        `task ${i}`,
      ]);
    }
  },
);

test("one runner, one trace, many rollouts", async () => {
  const runner = runnerOf();
  const solver = solverOf();
  const all = await agents.withTrace("all", () =>
    recordAll(Array.from({ length: 8 }, (_, i) => () => runner.run(solver, `task ${i}`))),
  );
  for (const { tree } of all) expect(tree).toBe(all[0]!.tree);
  expect(all[0]!.tree.split("\n")).toHaveLength(4);
});

test("outside a rollout nothing is recorded, and nothing is added to the request", async () => {
  const from = server.requests.length;
  const { spans } = await record(async () => {});
  await runnerOf().run(solverOf(), "go");
  expect(spans).toEqual([]);
  expect(server.requests.slice(from).map(({ text }) => text.includes("token_ids"))).toEqual([false, false]);
});
