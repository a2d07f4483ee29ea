/**
 * The SDK as ES modules and as CommonJS, and programs that run on a model server of their own.
 *
 * @module
 */
import { createRequire } from "node:module";
import * as esm from "@openai/agents";
import { serveModel } from "../../../src/testing/model-server.ts";
import { createTranscript } from "../transcript.ts";
import type { Scenario } from "./scenarios.ts";

/** Both builds. */
export const BUILDS = {
  esm,
  cjs: createRequire(import.meta.url)("@openai/agents") as typeof esm,
} as const;

/** Endpoints that a model can use. */
export type Api = "chat" | "responses";

/** What the program's own trace processor is told, in order, without ids and times. */
let told: string[] = [];
const note = (what: string) => async (item: esm.Trace | esm.Span<esm.SpanData>) => {
  told.push("spanData" in item ? `${what} ${item.spanData.type} ${item.error?.message}` : `${what} trace`);
};
esm.setTraceProcessors([
  {
    onTraceStart: note("start"),
    onTraceEnd: note("end"),
    onSpanStart: note("start"),
    onSpanEnd: note("end"),
    shutdown: async () => {},
    forceFlush: async () => {},
  },
]);

/** Runs a program; what it, its trace processor and the model server saw. */
export async function play(scenario: Scenario, agents: typeof esm, api: Api): Promise<unknown> {
  const server = await serveModel({ reply: scenario.reply, now: () => 0 });
  const { entries, note: noted } = createTranscript();
  told = [];
  try {
    const modelProvider = () =>
      new agents.OpenAIProvider({ apiKey: "none", baseURL: server.url, useResponses: api === "responses" });
    const runner = (config = {}) => new agents.Runner({ modelProvider: modelProvider(), ...config });
    noted("value", await scenario.run({ agents, server, runner, note: noted }));
    const text = JSON.stringify({ entries, told, requests: server.requests.map((request) => request.text) });
    return JSON.parse(text.replaceAll(server.url, "http://server"));
  } finally {
    await server.close();
  }
}
