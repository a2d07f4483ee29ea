/**
 * Claims from the store in the file `argv[2]` until its queue is empty, and prints each claimed id.
 *
 * @module
 */
import { writeSync } from "node:fs";
import { openSqliteStore } from "../../src/store/index.ts";

const store = await openSqliteStore({ path: process.argv[2] as string, busyTimeoutMs: 30_000 });
for (;;) {
  const claimed = await store.dequeueRollouts({ limit: 2, worker_id: `w-${process.pid}` });
  if (claimed.length === 0) break;
  for (const { rollout_id } of claimed) writeSync(1, `${JSON.stringify(rollout_id)}\n`);
}
await store.close();
