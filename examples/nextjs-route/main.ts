/**
 * A Next app whose routes run an agent: it is built and served, a visitor gets the answers, and what was recorded reaches
 * a store after that.
 *
 * @module
 */
import { createLightningStoreClient } from "../../src/client/index.ts";
import { serveStore } from "../../src/server/serve.ts";
import { openMemoryStore } from "../../src/store/index.ts";
import { serveModel, spanTree } from "../../src/testing/index.ts";
import { build, start } from "./next-app.ts";

/** A store that takes no span before it is let: so that one sees who waits for it. */
async function openHeldStore() {
  const store = await openMemoryStore();
  let release = () => {};
  let held: Promise<void> | undefined;
  return {
    hold() {
      held = new Promise((resolve) => {
        release = resolve;
      });
    },
    release: () => release(),
    store: new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        const method = value.bind(target);
        if (!/^add.*Spans$/.test(String(name))) return method;
        return async (...args: unknown[]) => {
          await held;
          return method(...args);
        };
      },
    }),
  };
}

await build();
const { store, hold, release } = await openHeldStore();
const server = await serveStore({ store, port: 0 });
const model = await serveModel({ reply: "42" });
const client = createLightningStoreClient({ url: server.url });
const app = await start({ AGL_STORE_URL: server.url, OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "none" });
try {
  for (const path of ["/api/solve", "/api/edge"]) {
    hold();
    const body = JSON.stringify({ problem: `6 times 7, by ${path}` });
    const response = await fetch(`${app.url}${path}`, { method: "POST", body });
    if (!response.ok) throw new Error(`POST ${path} answers ${response.status}:\n${app.log()}`);
    console.log(`POST ${path} answers ${await response.text()}`);
    const [rollout] = (await client.queryRollouts({ sort_by: "start_time", sort_order: "desc", limit: 1 }))
      .items;
    const id = rollout!.rollout_id;
    const before = await client.querySpans({ rollout_id: id });
    console.log(
      `at that moment the rollout is ${rollout!.status}, with ${before.items.length} spans in the store`,
    );
    release();
    const [done] = await client.waitForRollouts([id], { timeoutSeconds: 30 });
    console.log(`then it is ${done?.status}:`);
    console.log(`${spanTree((await client.querySpans({ rollout_id: id })).items)}\n`);
  }
} finally {
  release();
  await app.stop();
  await client.close();
  await model.close();
  await server.close();
}
