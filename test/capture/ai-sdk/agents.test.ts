import { describe, expect, test } from "vitest";
import { z } from "zod";
import { listenToRegistry } from "../../../src/capture/ai-sdk/registry.ts";
import { instrument } from "../../../src/capture/instrument.ts";
import { spanTree } from "../../../src/testing/span-tree.ts";
import { record } from "../recorded.ts";
import { play, type Scenario, type Stage, textOf } from "./scenario.ts";
import { type AnyModule, agentClass, steps, VERSIONS } from "./versions.ts";

const MODEL = "openai.chat.completion";
const SEVEN = VERSIONS[2]!;
const bare = (ai: AnyModule) => ai;

/** Calls the tool that it is offered, then tells what the tool gave. */
const reply: Scenario["reply"] = () => (request) => {
  const last = request.messages.at(-1)!;
  if (last.role === "tool") return `so ${last.content}`;
  return request.tools.length === 0 ? "right" : { toolCalls: [{ name: request.tools[0]!, arguments: {} }] };
};

/** Three agents, each the tool of the one before; the middle one streams, out of a tool that yields as it goes. */
const team = (name: (id: string) => object): Pick<Scenario, "reply" | "run"> => ({
  reply,
  run: async (stage: Stage) => {
    const { ai, model } = stage;
    const Agent = agentClass(ai);
    const agent = (id: string, tools: object) =>
      new Agent({ model: model(), tools, stopWhen: steps(ai, 5), ...name(id) });
    const toolOf = (execute: unknown) => ai.tool({ inputSchema: z.object({}), execute });
    const critic = agent("critic", {});
    const review = toolOf(async () => (await critic.generate({ prompt: "ok?" })).text);
    const solver = agent("solver", { review });
    const solve = toolOf(async function* () {
      yield "thinking";
      yield await textOf((await solver.stream({ prompt: "1+2" })).textStream);
    });
    stage.note("text", (await agent("planner", { solve }).generate({ prompt: "go" })).text);
  },
});

const TREE = [
  "invoke_agent planner [planner]",
  `  ${MODEL} [planner]`,
  "  execute_tool solve [planner]",
  "    invoke_agent solver [solver]",
  `      ${MODEL} [solver]`,
  "      execute_tool review [solver]",
  "        invoke_agent critic [critic]",
  `          ${MODEL} [critic]`,
  `      ${MODEL} [solver]`,
  `  ${MODEL} [planner]`,
].join("\n");

const NAMINGS = [
  ...VERSIONS.map((version) => ({
    how: `ai ${version.major}, wrapped, by ${version.major === 5 ? "name" : "id"}`,
    ...{ version, wrap: instrument },
    name: (id: string) => (version.major === 5 ? { name: id } : { id }),
  })),
  ...VERSIONS.map((version) => ({
    how: `ai ${version.major}, wrapped, by function id`,
    ...{ version, wrap: instrument },
    name: (functionId: string) => ({
      [version.major === 7 ? "telemetry" : "experimental_telemetry"]: { functionId },
    }),
  })),
  {
    how: "ai 7, wrapped and listened to, by the id where both are given",
    ...{ version: SEVEN, wrap: instrument },
    name: (id: string) => ({ id, telemetry: { functionId: `${id}-telemetry` } }),
  },
  {
    how: "ai 7, not wrapped, by function id",
    ...{ version: SEVEN, wrap: bare },
    name: (functionId: string) => ({ telemetry: { functionId } }),
  },
];

describe("agents that are tools of each other", () => {
  test.each(NAMINGS)("$how", async ({ how, version, wrap, name }) => {
    if (/listened|not wrapped/.test(how)) listenToRegistry();
    const call = team(name);
    const { value, spans, outcomes, open } = await record(() => play(call, version, wrap));
    expect(value["notes"]).toEqual([["text", "so so right"]]);
    expect(value["unhandled"]).toEqual([]);
    expect(spanTree(spans)).toBe(TREE);
    expect(new Set(outcomes)).toEqual(new Set(["ok"]));
    expect(open).toBe(0);
  });
});
