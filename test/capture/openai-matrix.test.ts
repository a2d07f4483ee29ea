import { getEventListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instrument } from "../../src/capture/instrument.ts";
import { record, turn } from "./recorded.ts";
import type { Scenario } from "./scenario.ts";
import { CHAT_SCENARIOS } from "./scenarios-chat.ts";
import { OTHER_SCENARIOS } from "./scenarios-other.ts";
import { STREAM_SCENARIOS } from "./scenarios-stream.ts";
import { createTranscript, describe as inWords } from "./transcript.ts";
import { type AnyClient, BUILDS, type Build } from "./versions.ts";
import { serveWire, type WireServer } from "./wire-server.ts";

let server: WireServer;
beforeAll(async () => {
  server = await serveWire();
});
afterAll(() => server.close());

/** Runs a scenario once; what the caller, the process and the server saw. */
async function play(scenario: Scenario, client: AnyClient): Promise<Record<string, unknown>> {
  const requests = server.play(scenario.reply);
  const { entries, note } = createTranscript();
  const controller = new AbortController();
  const others = process.listeners("unhandledRejection");
  const unhandled: unknown[] = [];
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (error) => void unhandled.push(inWords(error)));
  const broken = async (count: number) => {
    while (server.broken() < count) await turn();
  };
  try {
    await scenario.run(client, { note, controller, broken });
  } catch (error) {
    note("thrown", error);
  }
  // Rejections that nobody handles are told after the promises of a turn have settled.
  for (let i = 0; i < 3; i++) await turn();
  // A timer of the shortest kind that started during the scenario fires before this one.
  await new Promise((resolve) => setTimeout(resolve, 0));
  process.removeAllListeners("unhandledRejection");
  for (const listener of others) process.on("unhandledRejection", listener);
  return {
    entries,
    unhandled,
    listeners: getEventListeners(controller.signal, "abort").length,
    requests: requests.map(({ path, headers, body }) => ({ path, headers, body })),
  };
}

const clientOf = async (build: Build, base = server.url): Promise<AnyClient> => {
  const { OpenAI } = await build.load();
  return new OpenAI({ apiKey: "key", baseURL: base, maxRetries: 0 });
};

const SCENARIOS = [...CHAT_SCENARIOS, ...STREAM_SCENARIOS, ...OTHER_SCENARIOS];

describe.each(BUILDS)("$name", (build) => {
  test.each(SCENARIOS)("$name", async (scenario) => {
    const bare = await play(scenario, await clientOf(build));
    const client = await clientOf(build);
    expect(instrument(client)).toBe(client);
    const { value: seen, outcomes, open } = await record(() => play(scenario, client));
    expect(seen).toEqual(bare);
    if (scenario.majors?.includes(build.major) === false) {
      expect(outcomes).toEqual([]);
      return;
    }
    const wanted = scenario.outcomes;
    expect(outcomes).toEqual(typeof wanted === "function" ? wanted(build.major) : wanted);
    expect(open).toBe(scenario.open ?? 0);
  });

  test.each(build.name.includes("cjs") ? SCENARIOS : [])("outside a rollout: $name", async (scenario) => {
    const bare = await play(scenario, await clientOf(build));
    expect(await play(scenario, instrument(await clientOf(build)))).toEqual(bare);
  });
});
