import { readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { EXPORT_NAMES, instrumentExport } from "../../../src/capture/ai-sdk/module.ts";
import { instrument } from "../../../src/capture/instrument.ts";
import { spanTree } from "../../../src/testing/span-tree.ts";
import { record } from "../recorded.ts";
import { play } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { type AnyModule, VERSIONS } from "./versions.ts";

const require = createRequire(import.meta.url);
const HOOK = "agentlightning.test.hook";

/** Assigns to the module's declarations from inside, as a loader does. */
const SUFFIX = EXPORT_NAMES.map(
  (name) =>
    `;try{if(typeof ${name}==="function")${name}=globalThis[Symbol.for("${HOOK}")]("${name}",${name})}catch{}`,
).join("");

type Compiled = Module & { _compile(code: string, file: string): unknown };

function load(name: string): AnyModule {
  (globalThis as Record<symbol, unknown>)[Symbol.for(HOOK)] = instrumentExport;
  const file = require.resolve(name);
  const module = new Module(file) as Compiled;
  Object.assign(module, { filename: file, paths: createRequire(file).resolve.paths("x") ?? [dirname(file)] });
  module._compile(`${readFileSync(file, "utf8")}\n${SUFFIX}`, file);
  return module.exports;
}

describe.each([
  ["ai-v5", VERSIONS[0]!],
  ["ai", VERSIONS[1]!],
])("%s, instrumented from inside", (name, version) => {
  const hooked = load(name);
  const loaded = { ...version, load: async () => ({ ...(await version.load()), ai: hooked }) };

  test.each(SCENARIOS)("$name", async (scenario) => {
    const bare = await play(scenario, version, (ai) => ai);
    const { value, spans } = await record(() => play(scenario, loaded, (ai) => ai));
    expect(value).toEqual(bare);
    const { tree } = scenario;
    expect(spanTree(spans)).toBe(typeof tree === "function" ? tree(version.major) : tree);
  });

  test("instrumenting what is instrumented changes nothing", () => {
    const ours = instrument(hooked);
    for (const name of Object.keys(hooked)) expect(ours[name]).toBe(hooked[name]);
  });
});
