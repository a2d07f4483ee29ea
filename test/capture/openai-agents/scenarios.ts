/**
 * Programs of the OpenAI Agents SDK, with the spans that each must give, however it is built and traced.
 *
 * @module
 */
import type * as Agents from "@openai/agents";
import { z } from "zod";
import type { ModelMessage, ReplyScript } from "../../../src/testing/model-reply.ts";
import type { ModelServer } from "../../../src/testing/model-server.ts";
import { lines } from "../langchain/setup.ts";

/** What a scenario works with. */
export interface Stage {
  agents: typeof Agents;
  server: ModelServer;
  /** A runner whose models ask the server. */
  runner(config?: object): Agents.Runner;
  note(what: string, value?: unknown): void;
}

/** One program. */
export interface Scenario {
  name: string;
  reply: ReplyScript;
  run(stage: Stage): Promise<unknown>;
  tree: string;
  /** Spans that did not end well, with their outcome and the type of their error. */
  failed?: readonly string[];
}

const numbers = z.object({ a: z.number(), b: z.number() });
const model = "toy";

/** A tool that adds. */
export const adder = (agents: typeof Agents, more: object = {}) =>
  agents.tool({
    name: "add",
    description: "Adds",
    parameters: numbers,
    execute: async ({ a, b }) => String(a + b),
    ...more,
  });

const last = (messages: readonly ModelMessage[]) => messages.at(-1);
const add = { toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] };
/** Calls the tool `add` where there is one, once, then answers. */
const once: ReplyScript = ({ messages, tools }) =>
  tools.includes("add") && last(messages)?.role !== "tool"
    ? add
    : { content: `said ${last(messages)?.content}` };

const rounds = lines(
  "invoke_agent solver [solver]",
  "  openai.chat.completion [solver]",
  "  execute_tool add [solver]",
  "  openai.chat.completion [solver]",
);

/** Notes how the run ends. */
async function ending(stage: Stage, run: Promise<unknown>): Promise<void> {
  await run.then(
    (result) => stage.note("result", (result as { finalOutput: unknown }).finalOutput),
    (error: Error) => stage.note("error", [error.constructor.name, error.message]),
  );
}

/** Notes what the listeners of a runner are told. */
function listen(runner: Agents.Runner, stage: Stage): void {
  runner.on("agent_start", (_, agent) => stage.note("agent_start", agent.name));
  runner.on("agent_end", (_, agent, output) => stage.note("agent_end", [agent.name, output]));
  runner.on("agent_handoff", (_, from, to) => stage.note("agent_handoff", [from.name, to.name]));
  runner.on("agent_tool_start", (_, agent, tool) => stage.note("tool_start", [agent.name, tool.name]));
  runner.on("agent_tool_end", (_, agent, tool, result) =>
    stage.note("tool_end", [agent.name, tool.name, result]),
  );
}

/** Every program. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: "a tool",
    reply: once,
    async run(stage) {
      const solver = new stage.agents.Agent({ name: "solver", model, tools: [adder(stage.agents)] });
      const runner = stage.runner();
      listen(runner, stage);
      const result = await runner.run(solver, "1 + 2?");
      stage.note(
        "items",
        result.newItems.map((item) => item.toJSON()),
      );
      return result.finalOutput;
    },
    tree: rounds,
  },
  {
    name: "a tool, streamed",
    reply: once,
    async run(stage) {
      const solver = new stage.agents.Agent({ name: "solver", model, tools: [adder(stage.agents)] });
      const result = await stage.runner().run(solver, "1 + 2?", { stream: true });
      for await (const event of result) {
        stage.note("event", event.type === "raw_model_stream_event" ? event.data : event.type);
      }
      return result.finalOutput;
    },
    tree: rounds,
  },
  {
    name: "a stream that nobody reads",
    reply: once,
    async run(stage) {
      const solver = new stage.agents.Agent({ name: "solver", model, tools: [adder(stage.agents)] });
      const result = await stage.runner().run(solver, "1 + 2?", { stream: true });
      await result.completed;
      return result.finalOutput;
    },
    tree: rounds,
  },
  {
    name: "a stream that is left",
    reply: () => ({
      content: "one two three four five six seven eight",
      chunkTokens: 1,
      fault: { cut: { after: 6, how: "hang" } },
    }),
    async run(stage) {
      const solver = new stage.agents.Agent({ name: "solver", model });
      const result = await stage.runner().run(solver, "go", { stream: true });
      for await (const text of result.toTextStream()) {
        stage.note("text", text);
        break;
      }
      await result.completed;
      return result.cancelled;
    },
    tree: lines("invoke_agent solver [solver]", "  openai.chat.completion [solver]"),
    // The SDK aborts the call by a signal of its own.
    failed: ["openai.chat.completion aborted", "invoke_agent solver cancelled"],
  },
  {
    name: "hand-offs there and back",
    reply: ({ messages, tools }) => {
      const results = messages.filter(({ role }) => role === "tool").length;
      if (tools.includes("transfer_to_solver") && results < 3)
        return { toolCalls: [{ name: "transfer_to_solver" }] };
      if (tools.includes("transfer_to_critic")) return { toolCalls: [{ name: "transfer_to_critic" }] };
      return { content: "fine" };
    },
    async run(stage) {
      const { Agent } = stage.agents;
      const critic = new Agent({ name: "critic", model });
      const solver = new Agent({ name: "solver", model, handoffs: [critic] });
      critic.handoffs.push(solver);
      const runner = stage.runner();
      listen(runner, stage);
      const planner = new Agent({ name: "planner", model, handoffs: [solver] });
      const result = await runner.run(planner, "go");
      return [result.finalOutput, result.lastAgent?.name];
    },
    tree: lines(
      ...["planner", "solver", "critic", "solver"].flatMap((name) => [
        `invoke_agent ${name} [${name}]`,
        `  openai.chat.completion [${name}]`,
        `  handoff ${name} [${name}]`,
      ]),
      "invoke_agent critic [critic]",
      "  openai.chat.completion [critic]",
    ),
  },
  {
    name: "an agent as the tool of an agent, twice at once",
    reply: ({ messages, tools }) => {
      if (!tools.includes("ask_helper") || last(messages)?.role === "tool")
        return once({ messages, tools } as never);
      return {
        toolCalls: ["x", "y"].map((input) => ({ name: "ask_helper", arguments: { input } })),
      };
    },
    async run(stage) {
      const { Agent } = stage.agents;
      const helper = new Agent({ name: "helper", model, tools: [adder(stage.agents)] });
      const tools = [helper.asTool({ toolName: "ask_helper", toolDescription: "Helps" })];
      const boss = new Agent({ name: "boss", model, tools });
      return (await stage.runner().run(boss, "go")).finalOutput;
    },
    tree: lines(
      "invoke_agent boss [boss]",
      "  openai.chat.completion [boss]",
      ...[1, 2].flatMap(() => [
        "  execute_tool ask_helper [boss]",
        "    invoke_agent helper [helper]",
        "      openai.chat.completion [helper]",
        "      execute_tool add [helper]",
        "      openai.chat.completion [helper]",
      ]),
      "  openai.chat.completion [boss]",
    ),
  },
  {
    name: "a tool that fails, and is told so",
    reply: once,
    async run(stage) {
      const broken = adder(stage.agents, { execute: () => Promise.reject(new RangeError("too big")) });
      const solver = new stage.agents.Agent({ name: "solver", model, tools: [broken] });
      await ending(stage, stage.runner().run(solver, "go"));
    },
    tree: rounds,
    failed: ["execute_tool add error Error"],
  },
  {
    name: "a tool whose failure ends the run",
    reply: once,
    async run(stage) {
      const execute = () => Promise.reject(new RangeError("too big"));
      const broken = adder(stage.agents, { execute, errorFunction: null });
      const solver = new stage.agents.Agent({ name: "solver", model, tools: [broken] });
      await ending(stage, stage.runner().run(solver, "go"));
    },
    tree: lines(
      "invoke_agent solver [solver]",
      "  openai.chat.completion [solver]",
      "  execute_tool add [solver]",
    ),
    failed: ["execute_tool add error RangeError", "invoke_agent solver error ToolCallError"],
  },
  {
    name: "approval: an interruption, then yes",
    reply: once,
    async run(stage) {
      const asks = adder(stage.agents, { needsApproval: true });
      const solver = new stage.agents.Agent({ name: "solver", model, tools: [asks] });
      const runner = stage.runner();
      const first = await runner.run(solver, "go");
      stage.note("interruptions", first.interruptions.length);
      for (const item of first.interruptions) first.state.approve(item);
      return (await runner.run(solver, first.state)).finalOutput;
    },
    tree: lines(
      "invoke_agent solver [solver]",
      "  openai.chat.completion [solver]",
      "invoke_agent solver [solver]",
      "  execute_tool add [solver]",
      "  openai.chat.completion [solver]",
    ),
  },
  {
    name: "approval: kept as text meanwhile, then no",
    reply: once,
    async run(stage) {
      const asks = adder(stage.agents, { needsApproval: true });
      const solver = new stage.agents.Agent({ name: "solver", model, tools: [asks] });
      const runner = stage.runner();
      const first = await runner.run(solver, "go");
      const state = await stage.agents.RunState.fromString(solver, first.state.toString());
      for (const item of state.getInterruptions()) state.reject(item);
      return (await runner.run(solver, state)).finalOutput;
    },
    tree: lines(
      "invoke_agent solver [solver]",
      "  openai.chat.completion [solver]",
      "invoke_agent solver [solver]",
      "  execute_tool add [solver]",
      "  openai.chat.completion [solver]",
    ),
    failed: ["execute_tool add error Error"],
  },
  {
    name: "a guardrail that lets the input pass, and one that stops the output",
    reply: once,
    async run(stage) {
      const guard = (name: string, tripwireTriggered: boolean) => ({
        name,
        execute: async () => ({ tripwireTriggered, outputInfo: {} }),
        runInParallel: false,
      });
      const solver = new stage.agents.Agent({
        name: "solver",
        model,
        inputGuardrails: [guard("polite", false)],
        outputGuardrails: [guard("short", true)],
      });
      await ending(stage, stage.runner().run(solver, "go"));
    },
    tree: lines(
      "invoke_agent solver [solver]",
      "  guardrail polite [solver]",
      "  openai.chat.completion [solver]",
      "  guardrail short [solver]",
    ),
    failed: ["invoke_agent solver error OutputGuardrailTripwireTriggered"],
  },
  {
    name: "too many turns",
    reply: () => add,
    async run(stage) {
      const solver = new stage.agents.Agent({ name: "solver", model, tools: [adder(stage.agents)] });
      await ending(stage, stage.runner().run(solver, "go", { maxTurns: 1 }));
    },
    tree: lines(
      "invoke_agent solver [solver]",
      "  openai.chat.completion [solver]",
      "  execute_tool add [solver]",
    ),
    failed: ["invoke_agent solver error MaxTurnsExceededError"],
  },
  {
    name: "a model that refuses",
    reply: () => ({ fault: { status: 400, body: { error: { message: "no", code: "bad" } } } }),
    async run(stage) {
      const solver = new stage.agents.Agent({ name: "solver", model });
      await ending(stage, stage.runner().run(solver, "go"));
    },
    tree: lines("invoke_agent solver [solver]", "  openai.chat.completion [solver]"),
    failed: ["openai.chat.completion error BadRequestError", "invoke_agent solver error Error"],
  },
  {
    name: "a run that is aborted while the model works",
    reply: () => ({ fault: { cut: { after: 0, how: "hang" } } }),
    async run(stage) {
      const solver = new stage.agents.Agent({ name: "solver", model });
      const controller = new AbortController();
      const run = stage.runner().run(solver, "go", { signal: controller.signal });
      await stage.server.request(0);
      controller.abort();
      await ending(stage, run);
    },
    tree: lines("invoke_agent solver [solver]", "  openai.chat.completion [solver]"),
    failed: ["openai.chat.completion aborted APIUserAbortError", "invoke_agent solver aborted Error"],
  },
  {
    name: "a stream that breaks",
    reply: () => ({
      content: "one two three four",
      chunkTokens: 1,
      fault: { cut: { after: 2, how: "error" } },
    }),
    async run(stage) {
      const solver = new stage.agents.Agent({ name: "solver", model });
      const result = await stage.runner().run(solver, "go", { stream: true });
      await ending(
        stage,
        (async () => {
          for await (const text of result.toTextStream()) stage.note("text", text);
          await result.completed;
          return result;
        })(),
      );
    },
    tree: lines("invoke_agent solver [solver]", "  openai.chat.completion [solver]"),
    failed: ["openai.chat.completion error APIError", "invoke_agent solver error Error"],
  },
  {
    name: "a trace and a span of the program's own around two runs at once",
    reply: once,
    async run({ agents, runner }) {
      const solver = (name: string) => new agents.Agent({ name, model });
      return agents.withTrace("flow", () =>
        agents.withCustomSpan(
          async () => {
            const all = ["left", "right"].map((name) => runner().run(solver(name), name));
            return (await Promise.all(all)).map((result) => result.finalOutput);
          },
          { data: { name: "both", data: { rounds: 2 } } },
        ),
      );
    },
    tree: lines(
      "custom both",
      "  invoke_agent left [left]",
      "    openai.chat.completion [left]",
      "  invoke_agent right [right]",
      "    openai.chat.completion [right]",
    ),
  },
  {
    name: "an MCP server's tools",
    reply: once,
    async run({ agents, runner }) {
      const server = {
        name: "sums",
        cacheToolsList: false,
        connect: async () => {},
        close: async () => {},
        invalidateToolsCache: async () => {},
        listTools: async () => [
          {
            name: "add",
            description: "Adds",
            inputSchema: {
              type: "object" as const,
              properties: { a: { type: "number" }, b: { type: "number" } },
              required: ["a", "b"],
              additionalProperties: false,
            },
          },
        ],
        callTool: async () => [{ type: "text", text: "3" }],
      };
      const solver = new agents.Agent({ name: "solver", model, mcpServers: [server as never] });
      return (await runner().run(solver, "go")).finalOutput;
    },
    tree: lines(
      "invoke_agent solver [solver]",
      "  mcp_tools sums [solver]",
      "  openai.chat.completion [solver]",
      "  execute_tool add [solver]",
      "  mcp_tools sums [solver]",
      "  openai.chat.completion [solver]",
    ),
  },
];
