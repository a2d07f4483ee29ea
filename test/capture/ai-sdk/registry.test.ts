import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { listenToRegistry } from "../../../src/capture/ai-sdk/registry.ts";
import { instrument } from "../../../src/capture/instrument.ts";
import { GenAi, Tokens } from "../../../src/protocol/semconv.ts";
import { type ModelServer, serveModel } from "../../../src/testing/model-server.ts";
import { spanTree } from "../../../src/testing/span-tree.ts";
import { record } from "../recorded.ts";
import { FAILING_CALLS } from "./failures.ts";
import { addTool, play, textOf } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { type AnyModule, steps, VERSIONS } from "./versions.ts";

const MODEL = "openai.chat.completion";
const SIX = VERSIONS[1]!;
const SEVEN = VERSIONS[2]!;
const globals = globalThis as { AI_SDK_TELEMETRY_INTEGRATIONS?: unknown[] };

let ai: AnyModule;
let server: ModelServer;
let model: AnyModule;
beforeAll(async () => {
  const loaded = await SEVEN.load();
  ai = loaded.ai;
  server = await serveModel({
    reply: ({ messages, tools }) =>
      tools.length > 0 && messages.at(-1)?.role === "user"
        ? { toolCalls: [{ name: tools[0]!, arguments: { a: 1, b: 2 } }] }
        : "done",
  });
  model = loaded.createProvider({ name: "toy", baseURL: server.url, apiKey: "key" })("toy");
  listenToRegistry();
  listenToRegistry();
});
afterAll(async () => {
  delete globals.AI_SDK_TELEMETRY_INTEGRATIONS;
  await server.close();
});

const bare = (module: AnyModule) => module;
/** Outcomes of calls of which the SDK's list is told less than an instrumented model sees. */
const LESS: ReadonlyArray<readonly [calls: RegExp, outcomes: readonly string[]]> = [
  [/^(generate|stream)Object: a 503 first$/, ["ok"]],
  [/^streamObject: (a dead socket|an abort in the answer|a reader who leaves|no reader)$/, []],
  [/^(generateObject|streamObject|embed): telemetry that goes elsewhere$/, []],
  [/^embed: a 503 first$/, ["ok", "error"]],
];

describe("version 7, not wrapped", () => {
  test.each([...SCENARIOS, ...FAILING_CALLS])("$name", async (scenario) => {
    const integrations = globals.AI_SDK_TELEMETRY_INTEGRATIONS;
    delete globals.AI_SDK_TELEMETRY_INTEGRATIONS;
    const wanted = await play(scenario, SEVEN, bare);
    globals.AI_SDK_TELEMETRY_INTEGRATIONS = integrations!;
    const { value, spans, outcomes } = await record(() => play(scenario, SEVEN, bare));
    expect(value).toEqual(wanted);
    const less = LESS.find(([calls]) => calls.test(scenario.name))?.[1];
    const { tree, outcomes: own } = scenario;
    expect(outcomes).toEqual(less ?? (typeof own === "function" ? own(7) : own));
    if (less === undefined) expect(spanTree(spans)).toBe(typeof tree === "function" ? tree(7) : tree);
  });

  test("token ids of a stream", async () => {
    const { spans } = await record(() => textOf(ai.streamText({ model, prompt: "3+4" }).textStream), "train");
    const answer = server.requests.at(-1)!.answer!;
    expect(spans.map(({ name }) => name)).toEqual([MODEL]);
    expect(spans[0]!.attributes[Tokens.Prompt]).toEqual(answer.promptIds);
    expect(spans[0]!.attributes[Tokens.Response]).toEqual(answer.choices[0]!.ids);
  });

  test.each([
    ["generate", "not wrapped", bare],
    ["stream", "not wrapped", bare],
    ["generate", "wrapped", instrument],
    ["stream", "wrapped", instrument],
  ])("the calls that an answer asks for: %s, %s", async (kind, _, way) => {
    const our = way(ai);
    // A model of its own: what is wrapped stays so.
    const { createProvider } = await SEVEN.load();
    const toy = createProvider({ name: "toy", baseURL: server.url, apiKey: "key" })("toy");
    const options = { model: toy, prompt: "1+2", tools: { add: addTool(ai) } };
    const { toolCalls } = await record(async () =>
      kind === "generate"
        ? (await our.generateText(options)).text
        : textOf(our.streamText(options).textStream),
    );
    expect(toolCalls.map(({ name }) => name)).toEqual(["tool_call.add"]);
    expect(toolCalls[0]!.attributes["tool.parameters"]).toBe('{"a":1,"b":2}');
  });

  test("agents by their function ids, one in a tool of another", async () => {
    const agent = (functionId: string, tools: object) =>
      new ai.ToolLoopAgent({ model, tools, telemetry: { functionId }, stopWhen: steps(ai, 5) });
    const solver = agent("solver", { add: addTool(ai) });
    const solve = ai.tool({
      inputSchema: z.object({}),
      execute: async () => (await solver.generate({ prompt: "1+2" })).text,
    });
    const { spans } = await record(() => agent("planner", { solve }).generate({ prompt: "go" }));
    expect(spanTree(spans)).toBe(
      [
        "invoke_agent planner [planner]",
        `  ${MODEL} [planner]`,
        "  execute_tool solve [planner]",
        "    invoke_agent solver [solver]",
        `      ${MODEL} [solver]`,
        "      execute_tool add [solver]",
        `      ${MODEL} [solver]`,
        `  ${MODEL} [planner]`,
      ].join("\n"),
    );
    const add = spans.find(({ name }) => name === "execute_tool add")!;
    expect(add.attributes).toMatchObject({ [GenAi.ToolArguments]: '{"a":1,"b":2}', [GenAi.ToolResult]: "3" });
  });

  test("telemetry that is switched off, or keeps things to itself", async () => {
    const off = { isEnabled: false };
    expect((await record(() => ai.generateText({ model, prompt: "Hi", telemetry: off }))).spans).toEqual([]);
    const telemetry = { recordInputs: false, recordOutputs: false };
    const tools = { add: addTool(ai) };
    const options = { model, prompt: "my secret", tools, telemetry, stopWhen: steps(ai, 2) };
    const { spans } = await record(() => ai.generateText(options), "train");
    expect(spans).toHaveLength(3);
    for (const { attributes } of spans) {
      expect(JSON.stringify(attributes)).not.toMatch(/secret|done|"\{/);
      for (const name of [Tokens.Prompt, Tokens.Response, Tokens.Logprobs])
        expect(attributes).not.toHaveProperty(name);
    }
    expect(spans[0]!.attributes[GenAi.FinishReasons]).toEqual(["tool_calls"]);
  });
});

test.each(SCENARIOS)("version 7, wrapped as well: $name", async (scenario) => {
  const { spans } = await record(() => play(scenario, SEVEN, instrument));
  const { tree } = scenario;
  expect(spanTree(spans)).toBe(typeof tree === "function" ? tree(7) : tree);
});

test("version 6, whose list has other methods, is not disturbed", async () => {
  const scenario = SCENARIOS.find(({ name }) => name === "two tools at once in a stream")!;
  const { spans, value } = await record(() => play(scenario, SIX, bare));
  expect(spans).toEqual([]);
  expect(value["unhandled"]).toEqual([]);
});
