import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { instrument } from "../../../src/capture/instrument.ts";
import { AGENT_NAME, GenAi, Tokens } from "../../../src/protocol/semconv.ts";
import { type ModelServer, type Reply, serveModel, spanTree } from "../../../src/testing/index.ts";
import { record } from "../recorded.ts";

const MODEL = "openai.chat.completion";

let server: ModelServer;
/** Said to every request in place of the script. */
let reply: Reply | undefined;
beforeAll(async () => {
  // Mastra logs every error that it hands on.
  vi.spyOn(console, "error").mockImplementation(() => {});
  server = await serveModel({
    reply({ messages, tools }) {
      if (reply !== undefined) return reply;
      const last = messages.at(-1);
      if (last?.role === "tool") return { content: `It is ${/\d+/.exec(last.content)?.[0]}.` };
      const agent = tools.find((tool) => tool.startsWith("agent-"));
      if (agent !== undefined) return { toolCalls: [{ name: agent, arguments: { prompt: "6 times 7" } }] };
      if (tools.includes("multiply")) return { toolCalls: [{ name: "multiply", arguments: { a: 6, b: 7 } }] };
      return { content: "no tool" };
    },
  });
});
afterAll(() => server.close());

type Wrap = <T>(value: T) => T;
const bare: Wrap = (value) => value;

/** A planner with a solver as its sub-agent; everything is new each time. */
function createTeam(wrap: Wrap, model: () => unknown = () => openModel()) {
  const multiply = createTool({
    id: "multiply",
    description: "Multiplies",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => ({ product: a * b }),
  });
  const own = { model: model() as never, maxRetries: 0 };
  const solver = new Agent({
    id: "the-solver",
    name: "solver",
    description: "Solves",
    instructions: "You solve.",
    tools: { multiply },
    ...own,
  });
  const planner = new Agent({
    id: "the-planner",
    name: "planner",
    instructions: "You plan.",
    agents: { solver },
    ...own,
  });
  return { solver: wrap(solver), planner: wrap(planner) };
}

const openModel = ({ url } = server) => createOpenAICompatible({ name: "vllm", baseURL: url })("toy");

const TREE = [
  "invoke_agent planner [planner]",
  `  ${MODEL} [planner]`,
  "  invoke_agent solver [solver]",
  `    ${MODEL} [solver]`,
  "    execute_tool multiply [solver]",
  `    ${MODEL} [solver]`,
  `  ${MODEL} [planner]`,
].join("\n");

async function whole({ planner }: ReturnType<typeof createTeam>) {
  const { text, finishReason, steps, usage } = await planner.generate("6 times 7?");
  return { text, finishReason, steps: steps.length, usage };
}

async function streamed({ planner }: ReturnType<typeof createTeam>) {
  const output = await planner.stream("6 times 7?");
  const types: string[] = [];
  let text = "";
  for await (const { type, payload } of output.fullStream as AsyncIterable<{
    type: string;
    payload: unknown;
  }>) {
    types.push(type);
    if (type === "text-delta") text += (payload as { text: string }).text;
  }
  return { text, types, finishReason: await output.finishReason, usage: await output.usage };
}

describe.each([
  ["generate", whole],
  ["stream", streamed],
])("%s", (_name, run: (team: ReturnType<typeof createTeam>) => Promise<object>) => {
  test("agents, tools and model calls, and the same result as without", async () => {
    const wanted = await run(createTeam(bare));
    const from = server.requests.length;
    const { value, spans, outcomes, open } = await record(() => run(createTeam(instrument)), "train");
    expect(value).toEqual(wanted);
    expect(spanTree(spans)).toBe(TREE);
    expect(open).toBe(0);
    expect(new Set(outcomes)).toEqual(new Set(["ok"]));
    const requests = server.requests.slice(from);
    const calls = spans.filter(({ name }) => name === MODEL);
    expect(requests).toHaveLength(4);
    for (const { answer, messages, index } of requests) {
      const id = `chatcmpl-${index.toString(16).padStart(8, "0")}`;
      const found = calls.filter(({ attributes }) => attributes["gen_ai.response.id"] === id);
      expect(found).toHaveLength(1);
      const { attributes } = found[0]!;
      expect(attributes[Tokens.Prompt]).toEqual(answer!.promptIds);
      expect(attributes[Tokens.Response]).toEqual(answer!.choices[0]!.ids);
      expect(messages[0]!.content).toBe(attributes[AGENT_NAME] === "solver" ? "You solve." : "You plan.");
    }
    const tool = spans.find(({ name }) => name === "execute_tool multiply")!;
    expect(tool.attributes).toMatchObject({
      [GenAi.ToolArguments]: '{"a":6,"b":7}',
      [GenAi.ToolResult]: '{"product":42}',
      [GenAi.ToolCallId]: expect.stringMatching(/./),
    });
  });

  test("a model that is instrumented as well, or found by a function, is recorded once", async () => {
    for (const model of [() => instrument(openModel()), () => () => openModel()]) {
      const { spans } = await record(() => run(createTeam(instrument, model)));
      expect(spanTree(spans)).toBe(TREE);
    }
  });

  test("a server that refuses: the same error, no span left open", async () => {
    reply = { fault: { status: 400, body: { error: { message: "no" } } } };
    const failing = (wrap: Wrap) =>
      run(createTeam(wrap)).then(
        (value) => ({ value }),
        (error: Error) => ({ name: error.name, message: error.message }),
      );
    const wanted = await failing(bare);
    const { value, spans, outcomes, open } = await record(() => failing(instrument));
    reply = undefined;
    expect(value).toEqual(wanted);
    expect(spanTree(spans)).toBe(TREE.split("\n").slice(0, 2).join("\n"));
    expect(outcomes).toEqual(["error", "error"]);
    expect(open).toBe(0);
  });
});

test.each([
  ["aborted", "an abort", ["aborted", "aborted"]],
  // Mastra reads on by itself when its reader has left.
  ["left", "a reader that leaves", ["incomplete", "incomplete"]],
  ["unread", "a stream that nobody reads", ["incomplete", "incomplete"]],
])("%s: %s", async (how, _name, wanted) => {
  const hanging = await serveModel({
    reply: { content: "a long answer", chunkTokens: 1, fault: { cut: { after: 2, how: "hang" } } },
  });
  const run = async (wrap: Wrap, index: number) => {
    const controller = new AbortController();
    const { solver } = createTeam(wrap, () => openModel(hanging));
    const { textStream } = await solver.stream("6 times 7?", { abortSignal: controller.signal });
    await hanging.request(index);
    const seen: string[] = [];
    if (how === "unread") return seen;
    try {
      for await (const piece of textStream) {
        seen.push(piece);
        if (how === "left") break;
        controller.abort();
      }
    } catch (error) {
      seen.push(String(error));
    }
    return seen;
  };
  const expected = await run(bare, 0);
  const { value, outcomes } = await record(() => run(instrument, 1));
  await hanging.close();
  expect(value).toEqual(expected);
  expect(outcomes).toEqual(wanted);
});

test("instrumenting twice changes nothing; the agent stays the same object; capture off leaves it alone", () => {
  const { planner } = createTeam(bare);
  expect(instrument(planner, { capture: false } as never)).toBe(planner);
  expect(Object.hasOwn(planner, "generate")).toBe(false);
  expect(instrument(planner)).toBe(planner);
  const { generate } = planner;
  expect(instrument(planner).generate).toBe(generate);
  expect(planner).toBeInstanceOf(Agent);
});

test("a method that runs another of the same agent is one run", async () => {
  const { spans, open } = await record(async () => {
    const output = await createTeam(instrument).planner.stream("6 times 7?", { untilIdle: true } as never);
    for await (const _ of output.fullStream);
  });
  expect(spanTree(spans)).toBe(TREE);
  expect(open).toBe(0);
});

test("outside a rollout nothing is recorded, and the result is the same", async () => {
  expect(await whole(createTeam(instrument))).toEqual(await whole(createTeam(bare)));
});
