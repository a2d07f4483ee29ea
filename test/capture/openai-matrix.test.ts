import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instrument } from "../../src/capture/instrument.ts";
import { play } from "./play.ts";
import { record } from "./recorded.ts";
import { CHAT_SCENARIOS } from "./scenarios-chat.ts";
import { OTHER_SCENARIOS } from "./scenarios-other.ts";
import { STREAM_SCENARIOS } from "./scenarios-stream.ts";
import { type AnyClient, BUILDS, type Build } from "./versions.ts";
import { serveWire, type WireServer } from "./wire-server.ts";

let server: WireServer;
beforeAll(async () => {
  server = await serveWire();
});
afterAll(() => server.close());

const clientOf = async (build: Build, base = server.url): Promise<AnyClient> => {
  const { OpenAI } = await build.load();
  return new OpenAI({ apiKey: "key", baseURL: base, maxRetries: 0 });
};

const SCENARIOS = [...CHAT_SCENARIOS, ...STREAM_SCENARIOS, ...OTHER_SCENARIOS];

describe.each(BUILDS)("$name", (build) => {
  test.each(SCENARIOS)("$name", async (scenario) => {
    const bare = await play(server, scenario, await clientOf(build));
    const client = await clientOf(build);
    expect(instrument(client)).toBe(client);
    const { value: seen, outcomes, open } = await record(() => play(server, scenario, client));
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
    const bare = await play(server, scenario, await clientOf(build));
    expect(await play(server, scenario, instrument(await clientOf(build)))).toEqual(bare);
  });
});
