import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { makeApp, type Packed, pack } from "./install.ts";

// Each test installs an app, as fast as the machine and the registry are.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let packed: Packed;
beforeAll(async () => {
  packed = await pack();
});
afterAll(() => packed?.remove());

/** One rollout against a store in the same process, with a client of any shape; prints what the store holds. */
const PROGRAM = `
const client = {
  baseURL: "http://127.0.0.1:1/v1",
  chat: { completions: { create: async (body) => ({
    id: "chatcmpl-1", object: "chat.completion", model: body.model, created: 0,
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "4" }, token_ids: [52] }],
    prompt_token_ids: [50, 43, 50], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  }) } },
};
async function main() {
  const store = await openMemoryStore();
  const server = await serveStore({ store, host: "127.0.0.1", port: 0 });
  agl.configure({ storeUrl: server.url });
  const openai = agl.instrument(client);
  const add = agl.tool("add", (a, b) => a + b);
  const { rolloutId, value } = await agl.rollout({ input: "2+2", mode: "train" }, () => agl.agent("solver", async () => {
    const answer = await openai.chat.completions.create({ model: "m", messages: [{ role: "user", content: "2+2" }] });
    add(2, 2);
    agl.emitReward(1);
    return answer.choices[0].message.content;
  }));
  const spans = await store.querySpans({ rollout_id: rolloutId });
  const call = spans.items.find((span) => span.name === "openai.chat.completion");
  const rollout = await store.getRollout(rolloutId);
  console.log(JSON.stringify({
    value, status: rollout.status, names: spans.items.map((span) => span.name),
    ids: [call.attributes.prompt_token_ids, call.attributes.response_token_ids], agent: call.attributes["agent.name"],
  }));
  await agl.shutdown();
  await server.close();
}
main();
`;
const EXPECTED = {
  value: "4",
  status: "succeeded",
  names: [
    "openai.chat.completion",
    "execute_tool add",
    "agentlightning.annotation",
    "invoke_agent solver",
    "agentlightning.rollout",
  ],
  ids: [[50, 43, 50], [52]],
  agent: "solver",
};
const ESM = `import * as agl from "agentlightning";
import { serveStore } from "agentlightning/server";
import { openMemoryStore } from "agentlightning/store";
`;
const CJS = `const agl = require("agentlightning");
const { serveStore } = require("agentlightning/server");
const { openMemoryStore } = require("agentlightning/store");
`;
const lastLine = (text: string) => JSON.parse(text.trim().split("\n").at(-1) as string) as unknown;

test("the tarball holds the build, the README, the changelog and the licence, nothing else", () => {
  const other = packed.files.filter((file) => !file.startsWith("dist/"));
  expect(other.sort()).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "package.json"]);
  expect(packed.files).toContain("dist/index.js");
  expect(packed.files).toContain("dist/index.cjs");
  expect(packed.files).toContain("dist/index.d.cts");
});

test("an empty ESM app runs a rollout, and so does the command", async () => {
  const app = await makeApp(packed, "esm", "module");
  await app.write("main.js", ESM + PROGRAM);
  expect(lastLine(await app.run("node", ["main.js"]))).toEqual(EXPECTED);
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect((await app.run("npx", ["agl", "--version"])).trim()).toContain(version);
  expect(await app.run("npx", ["agl", "serve", "--help"])).toContain("--port");
});

test("an empty CJS app runs a rollout", async () => {
  const app = await makeApp(packed, "cjs", "commonjs");
  await app.write("main.js", CJS + PROGRAM);
  expect(lastLine(await app.run("node", ["main.js"]))).toEqual(EXPECTED);
});

test("the types compile strictly, library checks included, with none of the optional peers installed", async () => {
  const app = await makeApp(packed, "types", "module", { typescript: "6.0.3", "@types/node": "20.19.43" });
  await app.write(
    "main.ts",
    `${ESM}
const add = agl.tool("add", (a: number, b: number): number => a + b);
const sum: number = add(1, 2);
const result: Promise<agl.RolloutResult<string>> = agl.rollout({ input: null }, async () => String(sum));
const span: agl.EmittedSpan | undefined = agl.emitReward({ a: 1 }, { primaryKey: "a" });
export { result, span, serveStore, openMemoryStore };
`,
  );
  for (const module of ["nodenext", "preserve"]) {
    const resolution = module === "nodenext" ? "nodenext" : "bundler";
    const flags = [
      "--strict",
      "--skipLibCheck",
      "false",
      "--noEmit",
      "--target",
      "es2022",
      "--types",
      "node",
    ];
    await app.run("npx", ["tsc", ...flags, "--module", module, "--moduleResolution", resolution, "main.ts"]);
  }
});

describe("beside the app's own OpenTelemetry", () => {
  const lines = {
    "1.30": {
      api: "1.9.1",
      packages: { "@opentelemetry/sdk-trace-base": "1.30.1" },
      setUp: `const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-base");
const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider();
provider.addSpanProcessor(new SimpleSpanProcessor(exporter));
`,
    },
    "2.x": {
      api: "1.9.1",
      packages: { "@opentelemetry/sdk-trace-base": "2.12.1" },
      setUp: `const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-base");
const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
`,
    },
    "3.x": {
      api: "1.10.0",
      packages: { "@opentelemetry/sdk-trace": "3.1.1" },
      setUp: `const { TracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace");
const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
`,
    },
  };
  for (const [line, { api, packages, setUp }] of Object.entries(lines)) {
    test(`${line}: the app's provider and its spans stay as they are; its exporter can be our second destination`, async () => {
      const app = await makeApp(packed, `otel-${line}`, "commonjs", {
        "@opentelemetry/api": api,
        ...packages,
      });
      await app.write(
        "main.js",
        `${CJS}const { trace } = require("@opentelemetry/api");
${setUp}trace.setGlobalTracerProvider(provider);
const own = trace.getTracer("app").startSpan("app-span");
const before = trace.getTracerProvider();
${PROGRAM.replace("storeUrl: server.url", "storeUrl: server.url, exporters: [exporter]").replace(
  "await agl.shutdown();",
  `own.end();
  await agl.flush();
  console.log(JSON.stringify({
    same: trace.getTracerProvider() === before,
    names: exporter.getFinishedSpans().map((span) => span.name).sort(),
  }));`,
)}`,
      );
      const out = (await app.run("node", ["main.js"])).trim().split("\n");
      expect(JSON.parse(out[0] as string)).toEqual(EXPECTED);
      expect(JSON.parse(out[1] as string)).toEqual({
        same: true,
        names: ["app-span", ...EXPECTED.names].sort(),
      });
    });
  }
});

test("the main entry bundles for the browser without a node: import", async () => {
  const app = await makeApp(packed, "browser", "module");
  await app.write("main.js", `import * as agl from "agentlightning"; globalThis.agl = agl;`);
  const { outputFiles, warnings } = await build({
    entryPoints: [join(app.folder, "main.js")],
    bundle: true,
    platform: "browser",
    format: "esm",
    write: false,
  });
  const code = outputFiles[0]?.text ?? "";
  expect(warnings).toEqual([]);
  expect(code).not.toMatch(/(?:from|import|require\()\s*["'](?:node:|zod|hono)/);
  // It also runs where there is no process at all.
  await app.write(
    "browser.mjs",
    `delete globalThis.process;\n${code}\nconsole.log(agl.agent("a", () => 5));`,
  );
  expect(execFileSync("node", ["browser.mjs"], { cwd: app.folder, encoding: "utf8" }).trim()).toBe("5");
});
