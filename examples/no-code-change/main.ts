/**
 * Runs an unmodified app as one rollout: `node --import agentlightning/register app.mjs`, with the variables that a
 * controller sets. The store and the model server are part of the example; what the store has got is printed.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { serveStore } from "../../src/server/index.ts";
import { openMemoryStore } from "../../src/store/index.ts";
import { serveModel, spanTree } from "../../src/testing/index.ts";
import { buildRegister } from "../../test/register/build.ts";
import { reply } from "./model.ts";

const model = await serveModel({ reply });
const store = await openMemoryStore();
const server = await serveStore({ store, host: "127.0.0.1", port: 0 });
try {
  const { rollout_id, attempt } = await store.startRollout({ input: "6 times 7", mode: "train" });
  // In an app that has installed the package this is "agentlightning/register".
  const register = await buildRegister("example");
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--import", register, join(import.meta.dirname, "app.mjs"), "6 times 7"],
    {
      env: {
        ...process.env,
        NODE_OPTIONS: "",
        MODEL_URL: model.url,
        AGL_STORE_URL: server.url,
        AGL_ROLLOUT_ID: rollout_id,
        AGL_ATTEMPT_ID: attempt.attempt_id,
        AGL_ROLLOUT_MODE: "train",
      },
    },
  );
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  console.log(spanTree((await store.querySpans({ rollout_id })).items));
} finally {
  await server.close();
  await model.close();
}
