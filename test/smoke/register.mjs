// The built register: unmodified apps, each in a process that is a rollout as a whole. On this version of Node, or on
// another runtime: `node test/smoke/register.mjs npx -y bun@1.4.5 --preload` (ES modules only there).
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { serveStore } from "../../dist/server.js";
import { openMemoryStore } from "../../dist/store.js";
import { serveModel, spanTree } from "../../dist/testing.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "agl-smoke-"));
symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));

const BODY = `
const baseURL = process.env.MODEL_URL;
async function main() {
  const messages = [{ role: "user", content: "hello" }];
  await new OpenAI({ baseURL, apiKey: "none" }).chat.completions.create({ model: "toy", messages });
  await generateText({ model: createOpenAICompatible({ name: "toy", baseURL })("toy"), prompt: "hello" });
  await new ChatOpenAI({ model: "toy", apiKey: "none", configuration: { baseURL } }).invoke("hello");
}
main();
`;
const NAMES = [
  ["OpenAI", "openai"],
  ["generateText", "ai"],
  ["createOpenAICompatible", "@ai-sdk/openai-compatible"],
  ["ChatOpenAI", "@langchain/openai"],
];
const APPS = {
  "app.mjs": NAMES.map(([name, from]) => `import { ${name} } from "${from}";`).join("\n") + BODY,
  "app.cjs": NAMES.map(([name, from]) => `const { ${name} } = require("${from}");`).join("\n") + BODY,
};
const CALL = "  openai.chat.completion";
const elsewhere = process.argv.slice(2);
const [command, ...flags] = elsewhere.length > 0 ? elsewhere : [process.execPath, "--import"];
const files = Object.keys(APPS).filter((file) => elsewhere.length === 0 || file.endsWith(".mjs"));

const model = await serveModel();
const store = await openMemoryStore();
const server = await serveStore({ store, host: "127.0.0.1", port: 0 });
for (const file of files) {
  writeFileSync(join(folder, file), APPS[file]);
  const { rollout_id, attempt } = await store.startRollout({ input: file, mode: "train" });
  const args = [...flags, join(root, "dist/register.js"), file];
  const { stderr } = await promisify(execFile)(command, args, {
    cwd: folder,
    env: {
      ...process.env,
      NODE_OPTIONS: "",
      MODEL_URL: model.url,
      AGL_STORE_URL: server.url,
      AGL_ROLLOUT_ID: rollout_id,
      AGL_ATTEMPT_ID: attempt.attempt_id,
    },
  });
  // A tool that fetches the runtime may have words of its own.
  if (elsewhere.length === 0) assert.equal(stderr, "");
  const { items } = await store.querySpans({ rollout_id });
  assert.equal(spanTree(items), ["agentlightning.rollout", CALL, CALL, CALL].join("\n"));
}
await server.close();
await model.close();
rmSync(folder, { recursive: true });
const where = elsewhere.length > 0 ? elsewhere.join(" ") : `Node ${process.version}`;
console.log(`ok: ${files.length} unmodified apps on ${where}`);
