import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { record } from "../langchain/setup.ts";
import { SCENARIOS } from "./scenarios.ts";
import { type Api, BUILDS, play } from "./stage.ts";

const { esm, cjs } = BUILDS;
const MODES = [
  { name: "esm, chat, traced", agents: esm, api: "chat", disabled: false },
  { name: "esm, responses, tracing switched off", agents: esm, api: "responses", disabled: true },
  { name: "cjs, responses, traced", agents: cjs, api: "responses", disabled: false },
  { name: "cjs, chat, tracing switched off", agents: cjs, api: "chat", disabled: true },
] as const satisfies ReadonlyArray<{ api: Api; [more: string]: unknown }>;

const bare = new Map<string, unknown>();
const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);

beforeAll(async () => {
  process.on("unhandledRejection", note);
  for (const { name, agents, api, disabled } of MODES) {
    agents.setTracingDisabled(disabled);
    for (const scenario of SCENARIOS) {
      bare.set(`${name}: ${scenario.name}`, await play(scenario, agents, api));
    }
  }
  expect(instrument(esm)).toBe(esm);
  expect(instrument(cjs)).toBe(cjs);
  expect(instrument(esm)).toBe(esm);
}, 120_000);
afterAll(() => {
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

describe.each(MODES)("$name", ({ name, agents, api, disabled }) => {
  beforeAll(() => agents.setTracingDisabled(disabled));

  test.each(SCENARIOS)("$name", async (scenario) => {
    const { value, tree, open, spans } = await record(() => play(scenario, agents, api));
    expect(value).toEqual(bare.get(`${name}: ${scenario.name}`));
    expect(tree).toBe(scenario.tree);
    expect(open).toBe(0);
    const failed = spans.filter((span) => span.attributes["agentlightning.outcome"] !== "ok");
    expect(
      failed.map(({ name, attributes: { "agentlightning.outcome": outcome, "error.type": type } }) =>
        [name, outcome, type].filter(Boolean).join(" "),
      ),
    ).toEqual(scenario.failed ?? []);
  });
});
