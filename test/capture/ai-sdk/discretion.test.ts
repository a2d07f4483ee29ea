import { beforeAll, describe, expect, test } from "vitest";
import { listenToRegistry } from "../../../src/capture/ai-sdk/registry.ts";
import { instrument } from "../../../src/capture/instrument.ts";
import { GenAi, Tokens } from "../../../src/protocol/semconv.ts";
import { spanTree } from "../../../src/testing/span-tree.ts";
import { record } from "../recorded.ts";
import { addTool, play, type Scenario, type Stage, textOf } from "./scenario.ts";
import { type AnyModule, steps, VERSIONS } from "./versions.ts";

const MODEL = "openai.chat.completion";
const bare = (ai: AnyModule) => ai;

/** A conversation with a tool, all of whose texts say that they are secret. */
const reply: Scenario["reply"] = () => [
  { toolCalls: [{ name: "add", arguments: { a: 77001, b: 77002 } }] },
  "the secret answer",
];

/** The telemetry options under the name that the version has. */
const named = (major: number, options: object) => ({
  [major === 7 ? "telemetry" : "experimental_telemetry"]: options,
});

const asks = (telemetry: object, kind: "whole" | "streamed", tool?: (stage: Stage) => unknown) => ({
  reply,
  run: async (stage: Stage) => {
    const { ai, major, model } = stage;
    const tools = { add: addTool(ai, () => (tool === undefined ? "a secret sum" : tool(stage))) };
    const own = named(major, telemetry);
    const options = { model: model(), prompt: "my secret", tools, stopWhen: steps(ai, 2), ...own };
    if (kind === "whole") await ai.generateText(options);
    else await textOf(ai.streamText(options).textStream);
  },
});

const CASES = [
  ...VERSIONS.map((version) => ({ version, wrap: instrument, how: `ai ${version.major}, wrapped` })),
  { version: VERSIONS[2]!, wrap: bare, how: "ai 7, not wrapped" },
];

describe.each(CASES)("$how", ({ version, wrap, how }) => {
  beforeAll(() => {
    if (how.endsWith("not wrapped")) listenToRegistry();
  });

  test.each(["whole", "streamed"] as const)("nothing of inputs and outputs, %s", async (kind) => {
    const call = asks({ isEnabled: true, recordInputs: false, recordOutputs: false }, kind);
    const { spans, outcomes } = await record(() => play(call, version, wrap), "train");
    expect(spanTree(spans)).toBe(`${MODEL}\nexecute_tool add\n${MODEL}`);
    expect(outcomes).toEqual(["ok", "ok", "ok"]);
    for (const { attributes } of spans) {
      expect(JSON.stringify(attributes)).not.toMatch(/secret|7700/);
      for (const name of Object.values(Tokens)) expect(attributes).not.toHaveProperty(name);
    }
    const first = spans.find(({ name }) => name === MODEL);
    expect(first?.attributes[GenAi.FinishReasons]).toEqual(["tool_calls"]);
  });

  test("inputs alone", async () => {
    const call = asks({ isEnabled: true, recordInputs: false }, "whole");
    const { spans } = await record(() => play(call, version, wrap));
    expect(spans[1]!.attributes).not.toHaveProperty(GenAi.ToolArguments);
    expect(spans[1]!.attributes[GenAi.ToolResult]).toContain("a secret sum");
    expect(spans[2]!.attributes["gen_ai.completion.0.content"]).toBe("the secret answer");
    expect(JSON.stringify(spans[0]!.attributes)).not.toContain("my secret");
  });

  test("telemetry that is switched off, with a call inside that is not", async () => {
    const inner = ({ ai, model }: Stage) =>
      ai.generateText({ model: model(), prompt: "inner" }).then((result: AnyModule) => result.text);
    const call = asks({ isEnabled: false }, "whole", inner);
    const { spans, value } = await record(() => play(call, version, wrap));
    expect((value["requests"] as unknown[]).length).toBe(3);
    // Before version 7 telemetry is off unless it is asked for, which says nothing of recording.
    expect(spanTree(spans)).toBe(
      version.major === 7 ? MODEL : `${MODEL}\nexecute_tool add\n  ${MODEL}\n${MODEL}`,
    );
  });
});
