import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { play } from "../play.ts";
import { record } from "../recorded.ts";
import type { AnyClient } from "../versions.ts";
import { serveWire, type WireServer } from "../wire-server.ts";
import { WHOLE_SCENARIOS } from "./scenarios.ts";
import { STREAM_SCENARIOS } from "./stream-scenarios.ts";
import { BUILDS, type Build } from "./versions.ts";

let server: WireServer;
beforeAll(async () => {
  server = await serveWire();
  // The transcripts read every property of a result, of which the SDK says on the console that one is old.
  vi.spyOn(console, "warn").mockImplementation(() => {});
});
afterAll(() => server.close());

const clientOf = async (build: Build): Promise<AnyClient> => {
  const { Anthropic } = await build.load();
  const baseURL = server.url.slice(0, -"/v1".length);
  return new Anthropic({ apiKey: "key", baseURL, maxRetries: 0, logLevel: "off" });
};

const SCENARIOS = [...WHOLE_SCENARIOS, ...STREAM_SCENARIOS];

describe.each(BUILDS)("$name", (build) => {
  test.each(SCENARIOS)("$name", async (scenario) => {
    const bare = await play(server, scenario, await clientOf(build));
    const client = await clientOf(build);
    expect(instrument(client)).toBe(client);
    const { value: seen, spans, outcomes, open } = await record(() => play(server, scenario, client));
    expect(seen).toEqual(bare);
    if (scenario.majors?.includes(build.major) === false) {
      expect(outcomes).toEqual([]);
      return;
    }
    expect(open).toBe(scenario.open ?? 0);
    expect(outcomes.slice(0, outcomes.length - open)).toEqual(scenario.outcomes);
    expect(spans.every(({ name }) => name === "openai.chat.completion")).toBe(true);
  });

  test.each(build === BUILDS.at(-1) ? SCENARIOS : [])("outside a rollout: $name", async (scenario) => {
    const bare = await play(server, scenario, await clientOf(build));
    expect(await play(server, scenario, instrument(await clientOf(build)))).toEqual(bare);
  });
});
