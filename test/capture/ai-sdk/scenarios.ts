/**
 * The scenarios of the AI SDK's matrix.
 *
 * @module
 */
import { z } from "zod";
import type { Reply } from "../../../src/testing/model-reply.ts";
import { turn } from "../recorded.ts";
import { addTool, agentOf, type Scenario, type Stage, type Sum, textOf } from "./scenario.ts";
import { steps } from "./versions.ts";

const MODEL = "openai.chat.completion";
const ADD = { name: "add", arguments: { a: 1, b: 2 } };
const CALL_TWICE: Reply = { toolCalls: [ADD, { name: "add", arguments: { a: 3, b: 4 } }] };
const LONG = "one two three four five six seven eight nine ten eleven twelve";
const again = (status: number): Reply => ({ fault: { status, headers: { "retry-after-ms": "1" } } });

/** What a caller sees of a whole result. */
function whole(stage: Stage, result: Record<string, unknown>): void {
  const { text, toolCalls, toolResults, finishReason, usage, response } = result;
  stage.note("result", { text, toolCalls, toolResults, finishReason, usage, response });
}

/** Asks for a stream whose errors are told, not printed. */
function stream(stage: Stage, options: object = {}) {
  return stage.ai.streamText({
    model: stage.model(),
    prompt: "Hi",
    onError: ({ error }: { error: unknown }) => stage.note("onError", error),
    onFinish: ({ text }: { text: string }) => stage.note("onFinish", text),
    ...options,
  });
}

/** Notes the parts of a stream until it ends, fails or `stop` says so. */
async function parts(
  stage: Stage,
  result: { fullStream: AsyncIterable<unknown> },
  stop?: string,
): Promise<void> {
  try {
    for await (const part of result.fullStream) {
      stage.note("part", part);
      if ((part as { type: string }).type === stop) break;
    }
  } catch (error) {
    stage.note("failed", error);
  }
}

/** Waits until the answer has been sent, and could have been read. */
async function arrived(stage: Stage): Promise<void> {
  await (await stage.server.request(0)).ended;
  for (let i = 0; i < 50; i++) await turn();
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "generateText",
    reply: () => "Hello",
    tree: MODEL,
    outcomes: ["ok"],
    run: async (stage) => whole(stage, await stage.ai.generateText({ model: stage.model(), prompt: "Hi" })),
  },
  {
    name: "streamText",
    reply: () => LONG,
    tree: MODEL,
    outcomes: ["ok"],
    run: (stage) => parts(stage, stream(stage)),
  },
  {
    name: "raw chunks that the user asked for",
    reply: () => LONG,
    tree: MODEL,
    outcomes: ["ok"],
    run: (stage) => parts(stage, stream(stage, { includeRawChunks: true })),
  },
  {
    name: "generateObject",
    reply: () => '{"city":"Rome"}',
    tree: MODEL,
    outcomes: ["ok"],
    run: async (stage) => {
      const schema = z.object({ city: z.string() });
      const { object } = await stage.ai.generateObject({ model: stage.model(), schema, prompt: "Where?" });
      stage.note("object", object);
    },
  },
  {
    name: "streamObject",
    reply: () => '{"city":"Rome"}',
    tree: MODEL,
    outcomes: ["ok"],
    run: async (stage) => {
      const schema = z.object({ city: z.string() });
      const result = stage.ai.streamObject({ model: stage.model(), schema, prompt: "Where?" });
      for await (const partial of result.partialObjectStream) stage.note("partial", partial);
    },
  },
  {
    name: "embed and embedMany",
    reply: () => [],
    tree: "openai.embedding\nopenai.embedding",
    outcomes: ["ok", "ok"],
    run: async ({ ai, provider, note }) => {
      const model = provider.textEmbeddingModel("toy");
      note("one", await ai.embed({ model, value: "a" }));
      note("many", await ai.embedMany({ model, values: ["a", "b"] }));
    },
  },
  {
    name: "two tools at once",
    reply: () => [CALL_TWICE, "done"],
    tree: `${MODEL}\nexecute_tool add\nexecute_tool add\n${MODEL}`,
    outcomes: ["ok", "ok", "ok", "ok"],
    run: async (stage) => {
      const { ai } = stage;
      const tools = { add: addTool(ai) };
      whole(
        stage,
        await ai.generateText({ model: stage.model(), prompt: "1+2", tools, stopWhen: steps(ai, 3) }),
      );
    },
  },
  {
    name: "two tools at once in a stream",
    reply: () => [CALL_TWICE, "done"],
    tree: `${MODEL}\nexecute_tool add\nexecute_tool add\n${MODEL}`,
    outcomes: ["ok", "ok", "ok", "ok"],
    run: async (stage) => {
      const tools = { add: addTool(stage.ai) };
      stage.note("text", await textOf(stream(stage, { tools, stopWhen: steps(stage.ai, 3) }).textStream));
    },
  },
  {
    name: "a tool that throws",
    reply: () => [{ toolCalls: [ADD] }, "sorry"],
    tree: `${MODEL}\nexecute_tool add\n${MODEL}`,
    outcomes: ["ok", "error", "ok"],
    run: async (stage) => {
      const { ai } = stage;
      const tools = { add: addTool(ai, () => Promise.reject(new RangeError("too much"))) };
      whole(
        stage,
        await ai.generateText({ model: stage.model(), prompt: "1+2", tools, stopWhen: steps(ai, 3) }),
      );
    },
  },
  {
    name: "a tool that is a generator, and one that is not async",
    reply: () => [{ toolCalls: [ADD, { name: "now" }] }, "done"],
    tree: `${MODEL}\nexecute_tool add\nexecute_tool now\n${MODEL}`,
    outcomes: ["ok", "ok", "ok", "ok"],
    run: async (stage) => {
      const { ai } = stage;
      const add = addTool(ai, async function* ({ a, b }: Sum) {
        yield "thinking";
        yield a + b;
      });
      const now = ai.tool({ inputSchema: z.object({}), execute: () => 7 });
      const tools = { add, now };
      whole(
        stage,
        await ai.generateText({ model: stage.model(), prompt: "1+2", tools, stopWhen: steps(ai, 3) }),
      );
    },
  },
  {
    name: "a tool without execute",
    reply: () => [{ toolCalls: [ADD] }],
    tree: MODEL,
    outcomes: ["ok"],
    run: async (stage) => {
      const tools = { add: { ...addTool(stage.ai), execute: undefined } };
      whole(stage, await stage.ai.generateText({ model: stage.model(), prompt: "1+2", tools }));
    },
  },
  {
    name: "an agent as the tool of another",
    reply: () => [{ toolCalls: [{ name: "solve", arguments: { task: "1+2" } }] }, "3", "It is 3"],
    tree: [
      "invoke_agent planner [planner]",
      `  ${MODEL} [planner]`,
      "  execute_tool solve [planner]",
      "    invoke_agent solver [solver]",
      `      ${MODEL} [solver]`,
      `  ${MODEL} [planner]`,
    ].join("\n"),
    outcomes: ["ok", "ok", "ok", "ok", "ok", "ok"],
    run: async (stage) => {
      const solver = agentOf(stage, "solver", {});
      const solve = stage.ai.tool({
        inputSchema: z.object({ task: z.string() }),
        execute: async ({ task }: { task: string }) => (await solver.generate({ prompt: task })).text,
      });
      whole(stage, await agentOf(stage, "planner", { tools: { solve } }).generate({ prompt: "go" }));
    },
  },
  {
    name: "an agent that streams",
    reply: () => [{ toolCalls: [ADD] }, "done"],
    tree: `invoke_agent solver [solver]\n  ${MODEL} [solver]\n  execute_tool add [solver]\n  ${MODEL} [solver]`,
    outcomes: ["ok", "ok", "ok", "ok"],
    run: async (stage) => {
      const agent = agentOf(stage, "solver", { tools: { add: addTool(stage.ai) } });
      stage.note("text", await textOf((await agent.stream({ prompt: "go" })).textStream));
    },
  },
  {
    name: "a 503 before the answer",
    reply: () => [again(503), "Hello"],
    tree: `${MODEL}\n${MODEL}`,
    outcomes: ["error", "ok"],
    run: async (stage) => whole(stage, await stage.ai.generateText({ model: stage.model(), prompt: "Hi" })),
  },
  {
    name: "a 503 before the stream",
    reply: () => [again(503), "Hello"],
    tree: `${MODEL}\n${MODEL}`,
    outcomes: ["error", "ok"],
    run: (stage) => parts(stage, stream(stage)),
  },
  {
    name: "a refused request",
    reply: () => [{ fault: { status: 400, body: { error: { message: "bad" } } } }],
    tree: MODEL,
    outcomes: ["error"],
    run: async (stage) => whole(stage, await stage.ai.generateText({ model: stage.model(), prompt: "Hi" })),
  },
  {
    name: "an abort in a stream",
    reply: (gate) => ({
      content: LONG,
      chunkTokens: 2,
      fault: { gate: (n) => (n > 3 ? gate.pass() : undefined) },
    }),
    tree: MODEL,
    outcomes: ["aborted"],
    run: async (stage) => {
      const controller = new AbortController();
      const result = stream(stage, { abortSignal: controller.signal });
      let seen = false;
      try {
        for await (const part of result.fullStream) {
          if (part.type !== "text-delta") stage.note("part", part.type);
          if (part.type === "text-delta" && !seen) {
            seen = true;
            await stage.gate.arrived();
            controller.abort();
          }
        }
      } catch (error) {
        stage.note("failed", error);
      }
    },
  },
  {
    name: "an abort before the answer",
    reply: (gate) => ({ content: LONG, fault: { gate: () => gate.pass() } }),
    tree: MODEL,
    outcomes: ["aborted"],
    run: async (stage) => {
      const { signal, abort } = ((c) => ({ signal: c.signal, abort: () => c.abort() }))(
        new AbortController(),
      );
      const result = stage.ai.generateText({ model: stage.model(), prompt: "Hi", abortSignal: signal });
      await Promise.all([
        result.catch((error: unknown) => stage.note("failed", error)),
        stage.gate.arrived().then(abort),
      ]);
    },
  },
  {
    name: "a socket that dies in a stream",
    reply: () => ({ content: LONG, chunkTokens: 2, fault: { cut: { after: 4, how: "reset" } } }),
    tree: MODEL,
    outcomes: ["error"],
    run: async (stage) => parts(stage, stream(stage)),
  },
  {
    name: "a stream that ends without its end",
    reply: () => ({ content: LONG, chunkTokens: 2, fault: { cut: { after: 4, how: "end" } } }),
    tree: MODEL,
    outcomes: (major) => (major === 5 ? ["incomplete"] : ["error"]),
    run: async (stage) => parts(stage, stream(stage)),
  },
  {
    name: "an error as a chunk",
    reply: () => ({ content: LONG, chunkTokens: 2, fault: { cut: { after: 3, how: "error" } } }),
    tree: MODEL,
    outcomes: ["error"],
    run: async (stage) => parts(stage, stream(stage)),
  },
  {
    name: "a stream cut by the token limit",
    reply: () => LONG,
    tree: MODEL,
    outcomes: ["truncated"],
    run: async (stage) => parts(stage, stream(stage, { maxOutputTokens: 4 })),
  },
  {
    name: "a consumer that leaves",
    reply: () => ({ content: LONG, chunkTokens: 2 }),
    tree: MODEL,
    // Before version 7 the SDK reads the stream to its end whoever leaves; since then it stops reading, and tells nobody.
    outcomes: (major) => (major === 7 ? ["incomplete"] : ["ok"]),
    open: (major) => (major === 7 ? 1 : 0),
    run: async (stage) => {
      await parts(stage, stream(stage), "text-delta");
      await arrived(stage);
    },
  },
  {
    name: "a result that nobody reads",
    reply: () => ({ content: LONG, chunkTokens: 2 }),
    tree: MODEL,
    outcomes: (major) => (major === 7 ? ["incomplete"] : ["ok"]),
    open: (major) => (major === 7 ? 1 : 0),
    run: async (stage) => {
      stream(stage);
      await arrived(stage);
    },
  },
  {
    name: "a model of another step",
    reply: () => [{ toolCalls: [ADD] }, "done"],
    tree: `${MODEL}\nexecute_tool add\n${MODEL}`,
    outcomes: ["ok", "ok", "ok"],
    run: async (stage) => {
      const { ai } = stage;
      const prepareStep = ({ stepNumber }: { stepNumber: number }) =>
        stepNumber === 1 ? { model: stage.model("second") } : undefined;
      const tools = { add: addTool(ai) };
      const options = { model: stage.model(), prompt: "1+2", tools, prepareStep, stopWhen: steps(ai, 3) };
      whole(stage, await ai.generateText(options));
    },
  },
  {
    name: "a model by its name",
    reply: () => "Hello",
    tree: MODEL,
    outcomes: ["ok"],
    run: async (stage) => {
      const globals = globalThis as Record<string, unknown>;
      globals["AI_SDK_DEFAULT_PROVIDER"] = stage.provider;
      try {
        whole(stage, await stage.ai.generateText({ model: "toy", prompt: "Hi" }));
      } finally {
        delete globals["AI_SDK_DEFAULT_PROVIDER"];
      }
    },
  },
];
