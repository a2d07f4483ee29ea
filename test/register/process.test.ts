import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { hooksInThread } from "../../src/register/hooks.ts";
import { openStage, type Stage } from "./stage.ts";

// Each test runs whole processes, as fast as the machine is.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let stage: Stage;
beforeAll(async () => {
  stage = await openStage("register-process");
});
afterAll(() => stage?.close());

const CALL = `new OpenAI({ baseURL: process.env.MODEL_URL, apiKey: "none" }).chat.completions.create({ model: "toy", messages: [{ role: "user", content: "hello" }] })`;

/** Puts a package into a folder of its own, with a `node_modules` of its own. */
async function install(app: string, name: string, version: string, file: string, text: string) {
  const folder = join(stage.folder, app, "node_modules", name);
  await mkdir(join(folder, file, ".."), { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ name, version, main: file }));
  await writeFile(join(folder, file), text);
}

test("a library that is too old, or has another shape, is named once, and works", async () => {
  await install("odd", "openai", "3.3.0", "dist/index.js", "exports.OpenAIApi = class OpenAIApi {};");
  await install("odd", "ai", "99.0.0", "dist/index.js", "exports.makeText = () => 'text';");
  await stage.write(
    "odd/app.cjs",
    `require("openai"); require("openai"); console.log(require("ai").makeText());`,
  );
  const { stdout, stderr, code, tree } = await stage.run("odd/app.cjs");
  const modules = join(stage.folder, "odd/node_modules");
  expect({ stdout, code, tree }).toEqual({ stdout: "text\n", code: 0, tree: "agentlightning.rollout" });
  expect(stderr.trim().split("\n")).toEqual([
    `agentlightning: openai 3.3.0 in ${modules}/openai/ is older than 4.0; its calls are not recorded`,
    `agentlightning: ai 99.0.0 in ${modules}/ai/ has another dist/index.js than the known versions; its calls are not recorded`,
  ]);
});

test("the first MCP clients, whose files lay elsewhere, are recorded", async () => {
  const name = "@modelcontextprotocol/sdk";
  const file = "dist/client/index.js";
  const client = `export class Client {
  connect() {}
  listTools() {}
  async callTool({ name }) { return { content: [name] }; }
}`;
  await install("early", name, "1.0.4", file, client);
  const about = { name, version: "1.0.4", type: "module", exports: { "./*": "./dist/*" } };
  await stage.write(`early/node_modules/${name}/package.json`, JSON.stringify(about));
  await stage.write(
    "early/app.mjs",
    `import { Client } from "${name}/client/index.js";
console.log((await new Client().callTool({ name: "add", arguments: {} })).content[0]);`,
  );
  const { stdout, stderr, tree } = await stage.run("early/app.mjs");
  expect({ stdout, stderr }).toEqual({ stdout: "add\n", stderr: "" });
  expect(tree).toBe("agentlightning.rollout\n  execute_tool add");
});

test("an app with a library in its bundle is told so once, and only then", async () => {
  await stage.write("source.mjs", `import OpenAI from "openai";\nawait ${CALL};`);
  const bundle = (outfile: string, options: object) =>
    build({
      entryPoints: [join(stage.folder, "source.mjs")],
      outfile: join(stage.folder, outfile),
      bundle: true,
      platform: "node",
      format: "esm",
      minify: true,
      ...options,
    });
  await bundle("inside.mjs", {});
  await bundle("outside.mjs", { packages: "external" });
  const inside = await stage.run("inside.mjs");
  expect(inside).toMatchObject({ code: 0, tree: "agentlightning.rollout" });
  expect(inside.stderr).toBe(
    `agentlightning: inside ${join(stage.folder, "inside.mjs")} the calls of openai are not recorded: leave it out of the bundle, or call instrument() in the code (see docs/no-code-change.md)\n`,
  );
  const outside = await stage.run("outside.mjs");
  expect(outside).toMatchObject({ code: 0, stderr: "" });
  expect(outside.tree).toBe("agentlightning.rollout\n  openai.chat.completion");
});

test("worker threads and child processes record too, into the same rollout", async () => {
  await stage.write(
    "family.mjs",
    `import { fork } from "node:child_process";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
await once(new Worker(new URL("./leaf.mjs", import.meta.url)), "exit");
await once(fork(new URL("./leaf.mjs", import.meta.url)), "exit");
`,
  );
  await stage.write("leaf.mjs", `import OpenAI from "openai";\nawait ${CALL};\nconsole.log("called");`);
  const ran = await stage.run("family.mjs", { by: "variable" });
  expect(ran).toMatchObject({ code: 0, stderr: "", stdout: "called\ncalled\n" });
  expect(ran.tree.split("\n").sort()).toEqual([
    "  openai.chat.completion",
    "  openai.chat.completion",
    "agentlightning.rollout",
    "agentlightning.rollout",
    "agentlightning.rollout",
  ]);
});

test("errors of the app have the stack, and its end the code, that they have without", async () => {
  await stage.write(
    "fails.mjs",
    `import OpenAI from "openai";
console.log(String(OpenAI).length, new Error("here").stack);
const refused = await new OpenAI({ baseURL: process.env.MODEL_URL + "/nowhere", apiKey: "none", maxRetries: 0 }).models.list().catch((error) => error);
console.log(refused.stack);
throw new TypeError("the app's own");`,
  );
  const bare = await stage.run("fails.mjs", { by: "nothing" });
  const ran = await stage.run("fails.mjs");
  expect(bare.code).toBe(1);
  expect(ran.stdout).toBe(bare.stdout);
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain(bare.stderr.trim());
});

test("without a rollout nothing is recorded and nothing is said", async () => {
  await stage.write("alone.mjs", `import OpenAI from "openai";\nawait ${CALL};`);
  const none = { AGL_STORE_URL: "", AGL_ROLLOUT_ID: "", AGL_ATTEMPT_ID: "" };
  expect(await stage.run("alone.mjs", { env: none })).toMatchObject({
    code: 0,
    stderr: "",
    stdout: "",
    spans: [],
  });
});

test.each([
  ["20.20.2", false],
  ["22.22.2", false],
  ["22.22.3", true],
  ["23.11.0", false],
  ["24.11.0", false],
  ["24.11.1", true],
  ["24.12.0", true],
  ["25.0.0", false],
  ["25.1.0", true],
  ["26.0.0", true],
])("Node %s hooks in the app's thread: %s", (version, expected) => {
  expect(hooksInThread(version)).toBe(expected);
});
