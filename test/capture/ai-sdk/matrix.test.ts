import { describe, expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { spanTree } from "../../../src/testing/span-tree.ts";
import { record } from "../recorded.ts";
import { FAILING_CALLS } from "./failures.ts";
import { play } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { VERSIONS } from "./versions.ts";

describe.each(VERSIONS)("ai $major", (version) => {
  const calls = FAILING_CALLS.filter(({ majors }) => majors.includes(version.major));
  test.each([...SCENARIOS, ...calls])("$name", async (scenario) => {
    const bare = await play(scenario, version, (ai) => ai);
    expect(bare["unhandled"]).toEqual([]);
    const { value, spans, outcomes, open } = await record(() => play(scenario, version, instrument));
    expect(value).toEqual(bare);
    const of = <T>(wanted: T | ((major: number) => T)): T =>
      typeof wanted === "function" ? (wanted as (major: number) => T)(version.major) : wanted;
    expect(spanTree(spans)).toBe(of(scenario.tree));
    expect(outcomes).toEqual(of(scenario.outcomes));
    expect(open).toBe(of(scenario.open ?? 0));
  });
});
