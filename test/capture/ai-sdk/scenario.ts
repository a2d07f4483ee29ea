/**
 * Ways of using the AI SDK, run with and without instrumentation.
 *
 * @module
 */
import { z } from "zod";
import { createGate, type Gate } from "../../../src/testing/gate.ts";
import type { ReplyScript } from "../../../src/testing/model-reply.ts";
import { type ModelServer, serveModel } from "../../../src/testing/model-server.ts";
import { type AnyModule, agentClass, steps, type Version } from "./versions.ts";

/** What a scenario works with. */
export interface Stage {
  ai: AnyModule;
  major: number;
  server: ModelServer;
  /** A fresh model that asks the server. */
  model(id?: string): AnyModule;
  provider: AnyModule;
  /** Instruments a value, when the scenario is run with instrumentation. */
  wrap(value: AnyModule): AnyModule;
  /** Holds the chunks of answers that wait at it. */
  gate: Gate;
  note(what: string, value?: unknown): void;
}

/** One way of using the SDK. */
export interface Scenario {
  name: string;
  reply: (gate: Gate) => ReplyScript;
  run(stage: Stage): Promise<unknown>;
  /** Lines of the span tree, then the outcomes in the order of the ends. */
  tree: string | ((major: number) => string);
  outcomes: readonly string[] | ((major: number) => readonly string[]);
  /** Spans that only the end of the rollout can end. */
  open?: number | ((major: number) => number);
}

/** The tool that adds, in the way the SDK wants it. */
export function addTool(ai: AnyModule, execute: unknown = async ({ a, b }: Sum) => a + b): AnyModule {
  return ai.tool({
    description: "Adds two numbers",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute,
  });
}

/** Input of {@link addTool}. */
export interface Sum {
  a: number;
  b: number;
}

/** An agent of whichever class the version has, with a name. */
export function agentOf(stage: Stage, id: string, settings: object): AnyModule {
  const Agent = agentClass(stage.ai);
  const telemetry = stage.major === 7 ? "telemetry" : "experimental_telemetry";
  return new Agent({
    id,
    model: stage.model(),
    stopWhen: steps(stage.ai, 5),
    [telemetry]: { functionId: id },
    ...settings,
  });
}

/** Reads a stream of texts to its end. */
export async function textOf(stream: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of stream) text += piece;
  return text;
}

/** Runs a scenario once with `wrap`ped module; what the caller and the server saw. */
export async function play(
  scenario: Pick<Scenario, "reply" | "run">,
  version: Version,
  wrap: (ai: AnyModule) => AnyModule,
): Promise<Record<string, unknown>> {
  const { ai, createProvider } = await version.load();
  const gate = createGate();
  const server = await serveModel({ reply: scenario.reply(gate), now: () => 0 });
  const provider = createProvider({ name: "toy", baseURL: server.url, apiKey: "key" });
  const notes: unknown[] = [];
  const callbacks: unknown[] = [];
  const unhandled: unknown[] = [];
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (error) => void unhandled.push(String(error)));
  try {
    await scenario.run({
      ai: wrap(ai),
      major: version.major,
      server,
      provider,
      wrap,
      model: (id = "toy") => provider(id),
      gate,
      // Callbacks come between the parts that the SDK has buffered; where exactly is a race of its own.
      note: (what, value) => void (what.startsWith("on") ? callbacks : notes).push([what, plain(value)]),
    });
  } catch (error) {
    notes.push(["thrown", String(error)]);
  }
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  process.removeAllListeners("unhandledRejection");
  for (const listener of others) process.on("unhandledRejection", listener);
  const requests = server.requests.map(({ path, text }) => ({ path, text }));
  gate.open();
  await server.close();
  return { notes, callbacks, unhandled, requests };
}

/** A copy as data, without what differs from run to run. */
function plain(value: unknown): unknown {
  const json = JSON.stringify(value, (key, field: unknown) => {
    if (/^(timestamp|id|messageId|callId|date|performance|responseTimeMs)$/.test(key)) return undefined;
    return field instanceof Error ? String(field) : field;
  });
  return json === undefined ? undefined : JSON.parse(json.replaceAll(/127\.0\.0\.1:\d+/g, "host"));
}
