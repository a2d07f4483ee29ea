// The built package on this version of Node: rollouts with the real OpenAI client, stored in SQLite, read over HTTP. With
// a command (`node test/smoke/main.mjs npx -y bun@1.4.5`) the agent runs on that runtime.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLightningStoreClient } from "../../dist/client.js";
import { serveStore } from "../../dist/server.js";
import { openSqliteStore } from "../../dist/store.js";
import { serveModel } from "../../dist/testing.js";

const folder = mkdtempSync(join(tmpdir(), "agl-smoke-"));
const model = await serveModel();
const server = await serveStore({
  store: await openSqliteStore({ path: join(folder, "store.sqlite") }),
  host: "127.0.0.1",
  port: 0,
});
const variables = { MODEL_URL: model.url, AGL_STORE_URL: server.url };
const [command, ...args] = process.argv.slice(2);
if (command === undefined) {
  Object.assign(process.env, variables);
  await import("./agent.mjs");
} else {
  const agent = fileURLToPath(new URL("agent.mjs", import.meta.url));
  const child = spawn(command, [...args, agent], {
    stdio: "inherit",
    env: { ...process.env, ...variables },
  });
  assert.deepEqual(await once(child, "exit"), [0, null]);
}

const store = createLightningStoreClient({ url: server.url });
const { items: rollouts } = await store.queryRollouts({ limit: 100 });
assert.deepEqual(
  rollouts.map(({ input }) => input).sort((a, b) => a - b),
  Array.from({ length: 20 }, (_, i) => i),
);
for (const { rollout_id, input, status } of rollouts) {
  assert.equal(status, "succeeded");
  const { items } = await store.querySpans({ rollout_id });
  const of = (name) => items.filter((span) => span.name === name).map((span) => span.attributes);
  const calls = of("openai.chat.completion");
  assert.equal(calls.length, 2);
  assert.deepEqual(calls[0].response_token_ids, calls[1].response_token_ids);
  assert.ok(calls[0].response_token_ids.length > 0);
  for (const call of calls) assert.equal(call["gen_ai.prompt.0.content"], `number ${input}`);
  assert.equal(of("execute_tool next")[0]["gen_ai.tool.call.result"], String(input + 1));
  assert.equal(of("agentlightning.annotation")[0]["agentlightning.reward.0.value"], input);
}
await server.close();
await model.close();
rmSync(folder, { recursive: true });
console.log(
  `ok: ${rollouts.length} rollouts on ${command === undefined ? `Node ${process.version}` : process.argv.slice(2).join(" ")}`,
);
if (command === undefined) await import("./register.mjs");
