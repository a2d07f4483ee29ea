import { beforeAll, describe, expect, test } from "vitest";
import { listenToRegistry } from "../../../src/capture/ai-sdk/registry.ts";
import { instrument } from "../../../src/capture/instrument.ts";
import { Agl, Tokens } from "../../../src/protocol/semconv.ts";
import { record } from "../recorded.ts";
import { agentOf, play, type Scenario, type Stage } from "./scenario.ts";
import { type AnyModule, VERSIONS } from "./versions.ts";

const SEVEN = VERSIONS[2]!;
const MODEL = "openai.chat.completion";
const ANSWER = "one two three four five six seven eight";
const bare = (ai: AnyModule) => ai;

/** An answer that breaks off with an error, and then a whole one. */
const reply: Scenario["reply"] = () => [
  { content: ANSWER, chunkTokens: 2, fault: { cut: { after: 4, how: "error" } } },
  { content: ANSWER, chunkTokens: 2 },
];

const asks = (settings: object, ofAgent: boolean): Pick<Scenario, "reply" | "run"> => ({
  reply,
  run: async (stage: Stage) => {
    const result = ofAgent
      ? await agentOf(stage, "solver", settings).stream({ prompt: "Hi" })
      : stage.ai.streamText({ model: stage.model(), prompt: "Hi", onError: () => {}, ...settings });
    for await (const part of result.fullStream) stage.note("part", part);
    stage.note("text", await result.text);
  },
});

const CALLS = [
  ["by itself", asks({ streamRetries: 1 }, false)],
  ["since onError says so", asks({ streamRetries: 0, onError: () => ({ retry: true }) }, false)],
  ["by an agent", asks({ streamRetries: 1, onError: () => {} }, true)],
] as const;

const without = new Map<string, Record<string, unknown>>();
beforeAll(async () => {
  // Whoever listens to the tracing channel listens for good.
  for (const [name, call] of CALLS) without.set(name, await play(call, SEVEN, bare));
  listenToRegistry();
});

describe.each([
  ["wrapped", instrument],
  ["not wrapped", bare],
])("version 7, %s: a stream that is asked for again", (_name, wrap) => {
  test.each(CALLS)("%s", async (name, call) => {
    const { value, spans, open } = await record(() => play(call, SEVEN, wrap), "val");
    expect(value).toEqual(without.get(name));
    expect(value["unhandled"]).toEqual([]);
    const models = spans.filter((span) => span.name === MODEL);
    expect(models.map(({ attributes }) => attributes[Agl.Outcome])).toEqual(["superseded", "ok"]);
    const agents = spans.filter((span) => span.name === "invoke_agent solver");
    expect(agents.map(({ attributes }) => attributes[Agl.Outcome])).toEqual(
      name === "by an agent" ? ["ok"] : [],
    );
    expect(open).toBe(0);
  });

  test.each(CALLS)("%s: only the last attempt can be trained on", async (_case, call) => {
    const { spans } = await record(() => play(call, SEVEN, wrap), "train");
    const [first, last] = spans.filter((span) => span.name === MODEL);
    for (const name of Object.values(Tokens)) expect(first!.attributes).not.toHaveProperty(name);
    const { length } = last!.attributes[Tokens.Response] as number[];
    expect(length).toBe(last!.attributes["gen_ai.usage.output_tokens"]);
    expect(last!.attributes["gen_ai.completion.0.content"]).toBe(ANSWER);
  });
});

test.each(VERSIONS)(
  "ai $major: each attempt before the answer is a span, and only the last has tokens",
  async (version) => {
    const busy = { fault: { status: 503, headers: { "retry-after-ms": "1" } } };
    const { spans } = await record(
      () =>
        play(
          {
            reply: () => [busy, busy, ANSWER],
            run: ({ ai, model }) => ai.generateText({ model: model(), prompt: "Hi" }),
          },
          version,
          instrument,
        ),
      "train",
    );
    expect(spans.map(({ attributes }) => [attributes[Agl.Outcome], Tokens.Response in attributes])).toEqual([
      ["error", false],
      ["error", false],
      ["ok", true],
    ]);
  },
);
