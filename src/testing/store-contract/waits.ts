/**
 * The contract of waiting, and of a store that is closed.
 *
 * @module
 */
import { type ContractApi, claim, contractTests, enqueue, type OpenStore } from "./harness.ts";

/** Tests of waits and of close. */
export function waitContract(open: OpenStore, api: ContractApi): void {
  const { expect } = api;
  const { test, rejects } = contractTests(open, api);

  test("a wait ends when the last rollout finishes, and gives them in the order asked", async ({ store }) => {
    const made = await store.enqueueRollouts([1, 2, 3].map((input) => ({ input })));
    const ids = made.map(({ rollout_id }) => rollout_id) as [string, string, string];
    const waiting = store.waitForRollouts([ids[2], "ro-unknown", ids[0], ids[1]]);
    let done = false;
    void waiting.then(() => {
      done = true;
    });
    await claim(store);
    await store.updateAttempt(ids[0], "latest", { status: "succeeded" });
    await store.updateRollout(ids[1], { status: "cancelled" });
    expect(done).toBe(false);
    await claim(store);
    await store.updateAttempt(ids[2], "latest", { status: "failed" });
    const finished = await waiting;
    expect(finished.map(({ rollout_id, status }) => [rollout_id, status])).toEqual([
      [ids[2], "failed"],
      [ids[0], "succeeded"],
      [ids[1], "cancelled"],
    ]);
  });

  test("a wait for what is finished, for nothing, or for unknown ids ends at once", async ({ store }) => {
    const { rollout_id: id } = await enqueue(store);
    await store.updateRollout(id, { status: "failed" });
    expect((await store.waitForRollouts([id])).length).toBe(1);
    expect(await store.waitForRollouts([])).toEqual([]);
    expect(await store.waitForRollouts(["ro-unknown"])).toEqual([]);
  });

  test("a retry does not end a wait", async ({ store }) => {
    const { rollout_id: id } = await enqueue(store, {
      config: { max_attempts: 2, retry_condition: ["failed"] },
    });
    const waiting = store.waitForRollouts([id]);
    await claim(store);
    await store.updateAttempt(id, "latest", { status: "failed" });
    await claim(store);
    await store.updateAttempt(id, "latest", { status: "succeeded" });
    expect((await waiting).map(({ status }) => status)).toEqual(["succeeded"]);
  });

  test("a wait that runs out of time gives what is finished", async ({ store }) => {
    const [one, two] = await store.enqueueRollouts([{ input: 1 }, { input: 2 }]);
    const ids = [one?.rollout_id as string, two?.rollout_id as string];
    await store.updateRollout(ids[1] as string, { status: "succeeded" });
    for (const timeoutSeconds of [0, -1, 0.02]) {
      const finished = await store.waitForRollouts(ids, { timeoutSeconds });
      expect(finished.map(({ rollout_id }) => rollout_id)).toEqual([ids[1]]);
    }
  });

  test("many waits for one rollout all end", async ({ store }) => {
    const { rollout_id: id } = await enqueue(store);
    const waits = Array.from({ length: 20 }, () => store.waitForRollouts([id]));
    await store.updateRollout(id, { status: "succeeded" });
    expect((await Promise.all(waits)).map((finished) => finished.length)).toEqual(Array(20).fill(1));
  });

  test("a wait is ended by its signal", async ({ store }) => {
    const { rollout_id: id } = await enqueue(store);
    await rejects(store.waitForRollouts([id], { signal: AbortSignal.abort() }), "aborted");
    const controller = new AbortController();
    const waiting = store.waitForRollouts([id], { signal: controller.signal });
    controller.abort();
    await rejects(waiting, "aborted");
  });

  test("a closed store refuses every call and ends its waits", async ({ store }) => {
    const { rollout_id: id } = await enqueue(store);
    const ended = rejects(store.waitForRollouts([id]), "closed");
    // One turn, so that the wait has begun.
    await store.getRollout(id);
    await store.close();
    await ended;
    await rejects(store.enqueueRollouts([{ input: 1 }]), "closed");
    await rejects(store.dequeueRollouts(), "closed");
    await rejects(store.getRollout(id), "closed");
    await rejects(store.queryRollouts(), "closed");
    await rejects(store.addResources({}), "closed");
    await rejects(store.updateWorker("w"), "closed");
    await rejects(store.statistics(), "closed");
    await store.close();
  });
}
