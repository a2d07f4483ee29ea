/**
 * Opens the store in the file `argv[2]`, which other processes may be making at the same time, and enqueues 20 rollouts.
 *
 * @module
 */
import { writeSync } from "node:fs";
import { openSqliteStore } from "../../src/store/index.ts";

const store = await openSqliteStore({ path: process.argv[2] as string, busyTimeoutMs: 30_000 });
for (let i = 0; i < 20; i++) {
  const [rollout] = await store.enqueueRollouts([{ input: i }]);
  writeSync(1, `${JSON.stringify(rollout?.rollout_id)}\n`);
}
await store.close();
