import { expect, it } from "vitest";
import { createLightningStoreClient } from "../../src/client/client.ts";
import { serveStore } from "../../src/server/serve.ts";
import { openMemoryStore } from "../../src/store/index.ts";

it("waits on our server with one request, which is answered when the last rollout ends", async () => {
  const local = await openMemoryStore();
  const server = await serveStore({ store: local, port: 0 });
  const sent: string[] = [];
  const store = createLightningStoreClient({
    url: server.url,
    fetch: (input, init) => {
      sent.push(new URL(String(input)).pathname);
      return fetch(input, init);
    },
  });
  const [first, second] = await store.enqueueRollouts([{ input: 1 }, { input: 2 }]);
  const ids = [second?.rollout_id ?? "", first?.rollout_id ?? ""];
  sent.length = 0;
  const waiting = store.waitForRollouts(ids, { timeoutSeconds: 600 });
  // A wait that is not held would have polled by the time that another client has done all this.
  const other = createLightningStoreClient({ url: server.url });
  for (const { rollout_id, attempt } of await other.dequeueRollouts({ limit: 2 })) {
    for (let i = 0; i < 20; i++) await other.nextSequenceId(rollout_id, attempt.attempt_id);
    await other.updateAttempt(rollout_id, attempt.attempt_id, { status: "succeeded" });
  }
  expect((await waiting).map((rollout) => rollout.rollout_id)).toEqual(ids);
  expect(sent).toEqual(["/v1/agl/waits/rollouts"]);
  await server.close();
});
