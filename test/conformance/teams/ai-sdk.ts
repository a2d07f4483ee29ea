/**
 * The team as agents of the Vercel AI SDK: the planner has the two others as its tools.
 *
 * @module
 */
import { z } from "zod";
import * as agl from "../../../src/index.ts";
import { type AnyModule, agentClass, steps, VERSIONS } from "../../capture/ai-sdk/versions.ts";
import { type AgentName, instructions, multiply, type Run, type Team, TOGETHER } from "./team.ts";

/** How an agent is given its name: by the SDK's own option, or for its telemetry. */
type Naming = (ai: AnyModule, name: AgentName) => object;

function createPlanner(ai: AnyModule, model: AnyModule, naming: Naming, run: Run) {
  const Agent = agentClass(ai);
  const create = (name: AgentName, tools: object) =>
    new Agent({
      model,
      tools,
      ...naming(ai, name),
      // Version 5 calls them the system's.
      instructions: instructions(name),
      system: instructions(name),
      stopWhen: steps(ai, 9),
    });
  const ask = async (agent: AnyModule, prompt: string): Promise<string> => {
    if (!run.streamed) return (await agent.generate({ prompt })).text;
    let text = "";
    for await (const piece of (await agent.stream({ prompt })).textStream) text += piece;
    return text;
  };
  const tool = (inputSchema: object, execute: (input: AnyModule) => unknown) =>
    ai.tool({ description: "A tool", inputSchema, execute });
  const solver = create("solver", {
    multiply: tool(z.object({ a: z.number(), b: z.number() }), async (input) => multiply(input)),
  });
  const critic = create("critic", {});
  const planner = create("planner", {
    solve: tool(z.object({ task: z.string() }), async ({ task }) => {
      const answer = await ask(solver, task);
      run.solved();
      // A planner that asked for both at once is not to start over.
      return run.order === "together" ? "right" : answer;
    }),
    check: tool(z.object({ answer: z.string() }), ({ answer }) => ask(critic, answer)),
  });
  return () => ask(planner, run.order === "together" ? TOGETHER : "6 times 7?");
}

const byOption: Naming = (ai, name) => (ai.ToolLoopAgent === undefined ? { name } : { id: name });
const byTelemetry: Naming = (_ai, functionId) => ({ telemetry: { functionId } });

const team = (major: number, how: string, naming: Naming, wrap: (ai: AnyModule) => AnyModule): Team => ({
  name: `AI SDK ${major}${how}`,
  orders: ["turns", "together"],
  async open(baseURL) {
    const { ai, createProvider } = await VERSIONS.find((version) => version.major === major)!.load();
    const model = createProvider({ name: "toy", baseURL, apiKey: "key" })("toy");
    const wrapped = wrap(ai);
    return (run) => createPlanner(wrapped, model, naming, run)();
  },
});

export const aiSdk: readonly Team[] = [
  ...VERSIONS.map(({ major }) => team(major, "", byOption, agl.instrument)),
  team(7, ", not wrapped", byTelemetry, (ai) => ai),
];
