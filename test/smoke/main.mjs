// The built package on this version of Node: a rollout with the real OpenAI client, stored in SQLite, read over HTTP.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { createLightningStoreClient } from "../../dist/client.js";
import * as agl from "../../dist/index.js";
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
agl.configure({ storeUrl: server.url });
const openai = agl.instrument(new OpenAI({ baseURL: model.url, apiKey: "none" }));

const ids = await Promise.all(
  Array.from({ length: 20 }, async (_, i) => {
    const { rolloutId } = await agl.rollout({ input: i, mode: "train" }, () =>
      agl.agent("echo", async () => {
        const request = { model: "toy", messages: [{ role: "user", content: `number ${i}` }] };
        const whole = await openai.chat.completions.create(request);
        let streamed = "";
        for await (const chunk of await openai.chat.completions.create({ ...request, stream: true })) {
          streamed += chunk.choices[0]?.delta.content ?? "";
        }
        assert.equal(streamed, whole.choices[0].message.content);
        agl.emitReward(i);
      }),
    );
    return rolloutId;
  }),
);
const store = createLightningStoreClient({ url: server.url });
for (const [i, rolloutId] of ids.entries()) {
  assert.equal((await store.getRollout(rolloutId)).status, "succeeded");
  const { items } = await store.querySpans({ rollout_id: rolloutId });
  const calls = items.filter((span) => span.name === "openai.chat.completion");
  assert.equal(calls.length, 2);
  assert.deepEqual(calls[0].attributes.response_token_ids, calls[1].attributes.response_token_ids);
  assert.ok(calls[0].attributes.response_token_ids.length > 0);
  assert.equal(
    items.find((span) => span.name === "agentlightning.annotation").attributes[
      "agentlightning.reward.0.value"
    ],
    i,
  );
}
await agl.shutdown();
await server.close();
await model.close();
rmSync(folder, { recursive: true });
console.log(`ok: ${ids.length} rollouts on Node ${process.version}`);
await import("./register.mjs");
