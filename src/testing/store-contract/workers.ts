/**
 * The contract of workers.
 *
 * @module
 */
import { type ContractApi, claim, contractTests, enqueue, type OpenStore, sampleSpan } from "./harness.ts";

/** Tests of heartbeats and of what attempts mean for their worker. */
export function workerContract(open: OpenStore, api: ContractApi): void {
  const { expect } = api;
  const { test, timed } = contractTests(open, api);

  timed("a heartbeat makes the worker and changes nothing but itself", async ({ store, advance }) => {
    expect(await store.getWorker("w")).toBe(null);
    const first = await store.updateWorker("w", { heartbeat_stats: { cpu: 0.5, host: "a" } });
    expect(first).toMatchObject({
      worker_id: "w",
      status: "unknown",
      heartbeat_stats: { cpu: 0.5, host: "a" },
      last_dequeue_time: null,
      last_busy_time: null,
      last_idle_time: null,
      current_rollout_id: null,
      current_attempt_id: null,
    });
    advance(10);
    const second = await store.updateWorker("w");
    const last_heartbeat_time = (first.last_heartbeat_time as number) + 10;
    expect(second).toEqual({ ...first, last_heartbeat_time });
    expect(await store.getWorker("w")).toEqual(second);
  });

  timed("claims and reports move the worker", async ({ store, advance }) => {
    await enqueue(store);
    const { rollout_id, attempt, start_time: now } = await claim(store, "w");
    const busy = {
      worker_id: "w",
      status: "busy" as const,
      heartbeat_stats: null,
      last_heartbeat_time: null,
      last_dequeue_time: now,
      last_busy_time: now,
      last_idle_time: null,
      current_rollout_id: rollout_id,
      current_attempt_id: attempt.attempt_id,
    };
    expect(await store.getWorker("w")).toEqual(busy);
    advance(1);
    await store.updateAttempt(rollout_id, "latest", { status: "running" });
    expect(await store.getWorker("w")).toEqual({ ...busy, last_busy_time: now + 1 });
    advance(1);
    await store.updateAttempt(rollout_id, "latest", { status: "succeeded" });
    const idle = {
      ...busy,
      status: "idle" as const,
      last_busy_time: now + 1,
      last_idle_time: now + 2,
      current_rollout_id: null,
      current_attempt_id: null,
    };
    expect(await store.getWorker("w")).toEqual(idle);
    advance(1);
    await store.dequeueRollouts({ worker_id: "w" });
    expect(await store.getWorker("w")).toEqual({ ...idle, last_dequeue_time: now + 3 });
  });

  timed("a worker that finds no work is idle", async ({ store, advance }) => {
    await store.updateWorker("w");
    advance(1);
    await store.dequeueRollouts({ worker_id: "w" });
    const worker = await store.getWorker("w");
    expect(worker?.status).toBe("idle");
    expect(worker?.last_idle_time).toBe(worker?.last_dequeue_time);
    await store.dequeueRollouts({ worker_id: "new" });
    expect((await store.getWorker("new"))?.status).toBe("idle");
  });

  test("start makes the worker busy, and says nothing of the queue", async ({ store }) => {
    const started = await store.startRollout({ input: 1, worker_id: "w" });
    expect(await store.getWorker("w")).toMatchObject({
      status: "busy",
      current_attempt_id: started.attempt.attempt_id,
      last_dequeue_time: null,
    });
    const second = await store.startAttempt(started.rollout_id, { worker_id: "v" });
    expect(await store.getWorker("v")).toMatchObject({
      status: "busy",
      current_rollout_id: started.rollout_id,
      current_attempt_id: second.attempt.attempt_id,
    });
  });

  for (const [status, expected] of [
    ["succeeded", "idle"],
    ["failed", "idle"],
    ["timeout", "unknown"],
    ["unresponsive", "unknown"],
  ] as const) {
    test(`a worker is ${expected} after its attempt is ${status}`, async ({ store }) => {
      const { rollout_id: id } = await store.startRollout({ input: 1, worker_id: "w" });
      await store.updateAttempt(id, "latest", { status });
      expect(await store.getWorker("w")).toMatchObject({
        status: expected,
        current_rollout_id: null,
        current_attempt_id: null,
      });
    });
  }

  test("a worker with several attempts is idle only after the last of them", async ({ store }) => {
    await store.enqueueRollouts([{ input: 1 }, { input: 2 }, { input: 3 }]);
    const claimed = await store.dequeueRollouts({ limit: 3, worker_id: "w" });
    const [one, two, three] = claimed.map(({ rollout_id }) => rollout_id) as [string, string, string];
    expect(await store.getWorker("w")).toMatchObject({ status: "busy", current_rollout_id: three });
    await store.updateAttempt(three, "latest", { status: "succeeded" });
    expect(await store.getWorker("w")).toMatchObject({ status: "busy", current_rollout_id: two });
    await store.updateAttempt(one, "latest", { status: "timeout" });
    expect(await store.getWorker("w")).toMatchObject({ status: "busy", current_rollout_id: two });
    await store.dequeueRollouts({ worker_id: "w" });
    expect(await store.getWorker("w")).toMatchObject({ status: "busy", current_rollout_id: two });
    await store.updateAttempt(two, "latest", { status: "failed" });
    expect(await store.getWorker("w")).toMatchObject({ status: "idle", current_rollout_id: null });
  });

  test("an attempt that is given to another worker frees the first", async ({ store }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1, worker_id: "w" });
    await store.updateAttempt(id, "latest", { worker_id: "v" });
    expect(await store.getWorker("w")).toMatchObject({ status: "idle", current_attempt_id: null });
    expect(await store.getWorker("v")).toMatchObject({
      status: "busy",
      current_attempt_id: attempt.attempt_id,
    });
  });

  test("a worker given up for gone is busy again when its attempt shows life", async ({ store }) => {
    const { rollout_id: id, attempt } = await store.startRollout({
      input: 1,
      worker_id: "w",
      config: { max_attempts: 2, retry_condition: ["unresponsive"] },
    });
    await store.updateAttempt(id, "latest", { status: "unresponsive" });
    expect((await store.getWorker("w"))?.status).toBe("unknown");
    await store.addSpans([sampleSpan(attempt, 1)]);
    expect(await store.getWorker("w")).toMatchObject({
      status: "busy",
      current_rollout_id: id,
      current_attempt_id: attempt.attempt_id,
    });
  });

  test("a heartbeat of an attempt leaves the worker as it is", async ({ store }) => {
    const { rollout_id: id } = await store.startRollout({ input: 1, worker_id: "w" });
    const before = await store.getWorker("w");
    await store.updateAttempt(id, "latest", { last_heartbeat_time: 5 });
    expect(await store.getWorker("w")).toEqual(before);
  });

  test("workers are found by state and id", async ({ store }) => {
    await store.updateWorker("alpha-1");
    await store.startRollout({ input: 1, worker_id: "alpha-2" });
    await store.dequeueRollouts({ worker_id: "beta-1" });
    const ids = async (query: Parameters<typeof store.queryWorkers>[0]) =>
      (await store.queryWorkers(query)).items.map(({ worker_id }) => worker_id);
    expect(await ids({})).toEqual(["alpha-1", "alpha-2", "beta-1"]);
    expect(await ids({ status_in: ["busy", "idle"] })).toEqual(["alpha-2", "beta-1"]);
    expect(await ids({ worker_id_contains: "alpha" })).toEqual(["alpha-1", "alpha-2"]);
    expect(await ids({ worker_id_contains: "alpha", status_in: ["busy"] })).toEqual(["alpha-2"]);
    const either = { worker_id_contains: "beta", status_in: ["busy" as const], filter_logic: "or" as const };
    expect(await ids(either)).toEqual(["alpha-2", "beta-1"]);
    expect(await ids({ sort_by: "worker_id", sort_order: "desc", limit: 2 })).toEqual(["beta-1", "alpha-2"]);
  });
}
