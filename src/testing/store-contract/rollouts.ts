/**
 * The contract of the queue and of rollouts.
 *
 * @module
 */
import type { Rollout, RolloutStatus } from "../../protocol/rollout.ts";
import { type ContractApi, claim, contractTests, enqueue, type OpenStore } from "./harness.ts";

/** Tests of enqueue, dequeue, start, get and update. */
export function rolloutContract(open: OpenStore, api: ContractApi): void {
  const { expect } = api;
  const { test, timed, rejects } = contractTests(open, api);

  test("enqueue fills in the defaults and keeps the order of the requests", async ({ store }) => {
    const made = await store.enqueueRollouts([{ input: 1 }, { input: "two" }, { input: null }]);
    expect(made.map((rollout) => rollout.input)).toEqual([1, "two", null]);
    const [first] = made;
    expect(first).toMatchObject({
      status: "queuing",
      mode: null,
      resources_id: null,
      end_time: null,
      metadata: {},
      config: { timeout_seconds: null, unresponsive_seconds: null, max_attempts: 1, retry_condition: [] },
    });
    expect(typeof first?.start_time).toBe("number");
    expect("attempt" in (first as object)).toBe(false);
    expect(made.every(({ rollout_id }) => /^ro-[0-9a-f]{12}$/.test(rollout_id))).toBe(true);
    expect(new Set(made.map(({ rollout_id }) => rollout_id)).size).toBe(3);
  });

  test("enqueue keeps what was asked for", async ({ store }) => {
    const config = {
      timeout_seconds: 1.5,
      unresponsive_seconds: 60,
      max_attempts: 3,
      retry_condition: ["timeout" as const, "failed" as const],
    };
    const input = { deep: [{ text: "日本 😀 \u0001", n: 1.25, none: null, yes: true }] };
    const metadata = { batch: 7, tags: ["a"] };
    const rollout = await enqueue(store, { input, mode: "val", resources_id: "rs-x", config, metadata });
    const expected = { input, mode: "val", resources_id: "rs-x", config, metadata };
    expect(rollout).toMatchObject(expected);
    expect(await store.getRollout(rollout.rollout_id)).toEqual(rollout);
  });

  test("enqueue of nothing makes nothing", async ({ store }) => {
    expect(await store.enqueueRollouts([])).toEqual([]);
    expect((await store.queryRollouts()).total).toBe(0);
  });

  test("enqueue of a batch with a bad request makes none of the batch", async ({ store }) => {
    await rejects(
      store.enqueueRollouts([{ input: 1 }, { input: 2, config: { max_attempts: 0 } }]),
      "invalid_argument",
      "max_attempts",
    );
    await rejects(store.enqueueRollouts([{ input: 1, mode: "exam" as "test" }]), "invalid_argument", "mode");
    expect((await store.queryRollouts()).total).toBe(0);
    expect(await store.dequeueRollouts()).toEqual([]);
  });

  test("what the caller does to its values afterwards does not reach the store", async ({ store }) => {
    const input = { list: [1] };
    const rollout = await enqueue(store, { input });
    input.list.push(2);
    (rollout.input as { list: number[] }).list.push(3);
    (rollout.config.retry_condition as string[]).push("failed");
    const read = await store.getRollout(rollout.rollout_id);
    expect(read?.input).toEqual({ list: [1] });
    expect(read?.config.retry_condition).toEqual([]);
    ((read as Rollout).input as { list: number[] }).list.push(4);
    expect((await store.getRollout(rollout.rollout_id))?.input).toEqual({ list: [1] });
  });

  test("a rollout is bound to the latest resources at the time of the call", async ({ store }) => {
    const before = await enqueue(store);
    const first = await store.addResources({});
    const bound = await enqueue(store);
    const second = await store.addResources({});
    const started = await store.startRollout({ input: 1 });
    await store.updateResources(first.resources_id, {});
    const last = await enqueue(store);
    expect([before, bound, started, last].map((rollout) => rollout.resources_id)).toEqual([
      null,
      first.resources_id,
      second.resources_id,
      first.resources_id,
    ]);
    expect((await claim(store)).resources_id).toBe(null);
    expect((await claim(store)).resources_id).toBe(first.resources_id);
  });

  test("dequeue claims oldest first, each rollout once", async ({ store }) => {
    const made = await store.enqueueRollouts([1, 2, 3, 4, 5].map((input) => ({ input })));
    const first = await claim(store);
    expect(first).toMatchObject({
      rollout_id: made[0]?.rollout_id as string,
      status: "preparing",
      attempt: {
        rollout_id: made[0]?.rollout_id,
        sequence_id: 1,
        status: "preparing",
        end_time: null,
        worker_id: null,
        last_heartbeat_time: null,
        metadata: null,
      },
    });
    expect(/^at-[0-9a-f]{8}$/.test(first.attempt.attempt_id)).toBe(true);
    const next = await store.dequeueRollouts({ limit: 3 });
    expect(next.map((rollout) => rollout.input)).toEqual([2, 3, 4]);
    const rest = await store.dequeueRollouts({ limit: 10 });
    expect(rest.map((rollout) => rollout.input)).toEqual([5]);
    expect(await store.dequeueRollouts({ limit: 10 })).toEqual([]);
  });

  test("many claims at once take each rollout once", async ({ store }) => {
    await store.enqueueRollouts(Array.from({ length: 20 }, (_, input) => ({ input })));
    const claims = await Promise.all(Array.from({ length: 15 }, () => store.dequeueRollouts({ limit: 2 })));
    const taken = claims.flat().map((rollout) => rollout.input as number);
    expect(taken.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  test("dequeue with a limit of 0 or less claims nothing", async ({ store }) => {
    await enqueue(store);
    expect(await store.dequeueRollouts({ limit: 0 })).toEqual([]);
    expect(await store.dequeueRollouts({ limit: -3 })).toEqual([]);
    await rejects(store.dequeueRollouts({ limit: 1.5 }), "invalid_argument", "limit");
    expect((await store.dequeueRollouts({ limit: 1 })).length).toBe(1);
  });

  test("start makes a rollout with its first attempt, past the queue", async ({ store }) => {
    await enqueue(store, { input: "queued" });
    const started = await store.startRollout({ input: "now", mode: "train", metadata: { a: 1 } });
    expect(started).toMatchObject({
      input: "now",
      mode: "train",
      status: "preparing",
      metadata: { a: 1 },
      attempt: { sequence_id: 1, status: "preparing", rollout_id: started.rollout_id },
    });
    expect((await claim(store)).input).toBe("queued");
    expect(await store.dequeueRollouts()).toEqual([]);
    expect(await store.getRollout(started.rollout_id)).toEqual(started);
  });

  test("get gives null for an unknown id, and the latest attempt once there is one", async ({ store }) => {
    expect(await store.getRollout("ro-unknown")).toBe(null);
    const rollout = await enqueue(store);
    expect(await store.getRollout(rollout.rollout_id)).toEqual(rollout);
    const claimed = await claim(store);
    expect(await store.getRollout(rollout.rollout_id)).toEqual(claimed);
  });

  test("update changes the keys that are present and no others", async ({ store }) => {
    const { rollout_id: id } = await enqueue(store, { input: 1, mode: "train", metadata: { a: 1 } });
    await store.updateRollout(id, { metadata: { b: 2 } });
    expect(await store.getRollout(id)).toMatchObject({ input: 1, mode: "train", metadata: { b: 2 } });
    await store.updateRollout(id, { input: [2], mode: null, resources_id: "rs-1" });
    const read = await store.getRollout(id);
    expect(read).toMatchObject({ input: [2], mode: null, resources_id: "rs-1", status: "queuing" });
    expect(await store.updateRollout(id, {})).toMatchObject({ rollout_id: id, input: [2] });
  });

  test("update replaces the whole config, missing keys with their defaults", async ({ store }) => {
    const { rollout_id: id } = await enqueue(store, { config: { max_attempts: 4, timeout_seconds: 9 } });
    await store.updateRollout(id, { config: { retry_condition: ["failed"] } });
    expect((await store.getRollout(id))?.config).toEqual({
      timeout_seconds: null,
      unresponsive_seconds: null,
      max_attempts: 1,
      retry_condition: ["failed"],
    });
  });

  test("update refuses bad values and unknown ids", async ({ store }) => {
    const { rollout_id: id } = await enqueue(store);
    await rejects(store.updateRollout("ro-unknown", { metadata: {} }), "not_found", "ro-unknown");
    await rejects(store.updateRollout(id, { status: "done" as "failed" }), "invalid_argument", "status");
    await rejects(store.updateRollout(id, { mode: "exam" as "test" }), "invalid_argument", "mode");
    await rejects(
      store.updateRollout(id, { config: { max_attempts: 1.5 } }),
      "invalid_argument",
      "max_attempts",
    );
    await rejects(
      store.updateRollout(id, { config: { retry_condition: ["cancelled" as "failed"] } }),
      "invalid_argument",
    );
    expect(await store.getRollout(id)).toMatchObject({ status: "queuing", config: { max_attempts: 1 } });
  });

  for (const status of ["succeeded", "failed", "cancelled"] as const) {
    timed(`update to ${status} sets the end time and takes the rollout out of the queue`, async (context) => {
      const { store, advance } = context;
      const { rollout_id: id, start_time: start } = await enqueue(store);
      advance(5);
      const updated = await store.updateRollout(id, { status });
      expect(updated).toMatchObject({ status, end_time: start + 5 });
      advance(5);
      await store.updateRollout(id, { status });
      expect((await store.getRollout(id))?.end_time).toBe(start + 5);
      expect(await store.dequeueRollouts()).toEqual([]);
    });
  }

  test("a rollout sent back to the queue waits at its tail, once", async ({ store }) => {
    const first = await enqueue(store, { input: "first" });
    await claim(store);
    await enqueue(store, { input: "second" });
    await store.updateRollout(first.rollout_id, { status: "requeuing" });
    await store.updateRollout(first.rollout_id, { status: "requeuing" });
    await store.updateRollout(first.rollout_id, { status: "queuing" });
    const claimed = await store.dequeueRollouts({ limit: 5 });
    expect(claimed.map((rollout) => rollout.input)).toEqual(["second", "first"]);
    expect(claimed[1]?.attempt.sequence_id).toBe(2);
  });

  const final: readonly (readonly [RolloutStatus, readonly RolloutStatus[], readonly RolloutStatus[]])[] = [
    ["cancelled", [], ["queuing", "requeuing", "preparing", "running", "succeeded", "failed"]],
    ["succeeded", ["queuing", "requeuing"], ["preparing", "running", "failed", "cancelled"]],
    ["failed", ["queuing", "requeuing"], ["preparing", "running", "succeeded", "cancelled"]],
  ];
  for (const [status, allowed, refused] of final) {
    test(`a ${status} rollout ${allowed.length === 0 ? "is never" : "is only by name"} run again`, async (context) => {
      const { store } = context;
      for (const next of refused) {
        const { rollout_id: id } = await enqueue(store);
        await store.updateRollout(id, { status });
        await rejects(store.updateRollout(id, { status: next }), "conflict", id, status, next);
        expect((await store.getRollout(id))?.status).toBe(status);
      }
      expect(await store.dequeueRollouts({ limit: 10 })).toEqual([]);
      for (const next of allowed) {
        const { rollout_id: id } = await enqueue(store);
        await store.updateRollout(id, { status });
        expect(await store.updateRollout(id, { status: next })).toMatchObject({
          status: next,
          end_time: null,
        });
        expect((await claim(store)).rollout_id).toBe(id);
      }
    });
  }
}
