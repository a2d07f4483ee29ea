/**
 * The whole way in one program: a store, a model server, an agent of two parts that works through a file of problems,
 * and the store's account of it, read back over HTTP and compared with what the agent saw.
 *
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import OpenAI from "openai";
import * as agl from "../../src/index.ts";
import { serveStore } from "../../src/server/serve.ts";
import { openSqliteStore } from "../../src/store/index.ts";
import { serveModel, spanTree } from "../../src/testing/index.ts";
import { checkAll } from "./check.ts";
import { reply } from "./model.ts";
import { createProgress } from "./progress.ts";
import { readBack } from "./read-back.ts";
import { readProblems, runAll } from "./rollouts.ts";
import { table } from "./table.ts";

const AT_ONCE = 16;
/** Milliseconds that the model thinks, so that rollouts really overlap. */
const THINKING_MS = 25;

const folder = await mkdtemp(join(tmpdir(), "agentlightning-demo-"));
const store = await openSqliteStore({ path: join(folder, "store.sqlite") });
const server = await serveStore({ store, port: 0 });
const model = await serveModel({
  models: ["demo-model"],
  reply: async (request) => {
    await delay(THINKING_MS * (1 + (request.index % 3)));
    return reply(request);
  },
});

try {
  console.log(`store  ${server.url}  (SQLite)`);
  console.log(`model  ${model.url}  (token ids, log probabilities, tools, streams)\n`);

  agl.configure({ storeUrl: server.url });
  const openai = agl.instrument(new OpenAI({ baseURL: model.url, apiKey: "none" }));
  const problems = await readProblems();
  const started = performance.now();
  const entries = await runAll(
    openai,
    problems,
    AT_ONCE,
    createProgress(`rollouts done, ${AT_ONCE} at once`, problems.length, process.stderr),
  );
  const { failed, pending } = await agl.flush();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);

  const stored = await readBack(server.url);
  const calls = entries.flatMap((entry) => entry.calls);
  const streamed = calls.filter((call) => call.streamed).length;
  console.log(`\n${table(stored, process.stdout.columns)}\n`);
  console.log(`The first rollout, as the store has it:\n\n${spanTree(stored[0]?.spans ?? [])}\n`);
  console.log(`${calls.length} model calls (${streamed} of them streamed) in ${seconds} s`);

  const faults = checkAll(entries, stored);
  if (failed > 0 || pending > 0)
    faults.push(`${failed} spans were lost, and ${pending} did not reach the store`);
  if (faults.length > 0) {
    console.error(`\n✗ The store's account differs from the agent's in ${faults.length} points:`);
    for (const fault of faults) console.error(`  ${fault}`);
    process.exitCode = 1;
  } else {
    console.log("✓ Ids, order, parents, agent names and rewards in the store are what the agent saw.\n");
    console.log(
      "Next: start a store of your own with `npx agl serve`, wrap your client with agl.instrument(),",
    );
    console.log("and run your agent with AGL_STORE_URL=http://127.0.0.1:4747. README.md has the five lines.");
  }
} finally {
  await agl.shutdown();
  await model.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
}
