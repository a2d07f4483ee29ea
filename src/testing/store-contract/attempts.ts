/**
 * The contract of attempts: how they are made and reported on.
 *
 * @module
 */
import type { AttemptStatus } from "../../protocol/rollout.ts";
import { type ContractApi, claim, contractTests, enqueue, type OpenStore } from "./harness.ts";

/** Tests of start, report and read of attempts. */
export function attemptContract(open: OpenStore, api: ContractApi): void {
  const { expect } = api;
  const { test, timed, rejects } = contractTests(open, api);

  test("attempts of a rollout count from 1", async ({ store }) => {
    const started = await store.startRollout({ input: 1 });
    const second = await store.startAttempt(started.rollout_id, { worker_id: "w" });
    const third = await store.startAttempt(started.rollout_id);
    expect(second.attempt).toMatchObject({ sequence_id: 2, worker_id: "w", status: "preparing" });
    expect(third.attempt.sequence_id).toBe(3);
    const page = await store.queryAttempts(started.rollout_id);
    expect(page).toEqual({
      items: [started.attempt, second.attempt, third.attempt],
      limit: -1,
      offset: 0,
      total: 3,
    });
    expect(await store.getLatestAttempt(started.rollout_id)).toEqual(third.attempt);
  });

  test("an attempt by hand needs no place in the queue and no retry policy", async ({ store }) => {
    const { rollout_id: id } = await enqueue(store);
    const started = await store.startAttempt(id);
    expect(started).toMatchObject({ rollout_id: id, status: "preparing", attempt: { sequence_id: 1 } });
    expect(await store.dequeueRollouts()).toEqual([]);
    await store.updateAttempt(id, "latest", { status: "failed" });
    expect((await store.getRollout(id))?.status).toBe("failed");
    const again = await store.startAttempt(id);
    expect(again).toMatchObject({ status: "preparing", end_time: null, attempt: { sequence_id: 2 } });
  });

  test("a cancelled rollout takes no attempt", async ({ store }) => {
    const { rollout_id: id } = await enqueue(store);
    await store.updateRollout(id, { status: "cancelled" });
    await rejects(store.startAttempt(id), "conflict", id, "cancelled");
    expect(await store.getLatestAttempt(id)).toBe(null);
  });

  test("unknown rollouts and attempts", async ({ store }) => {
    await rejects(store.startAttempt("ro-unknown"), "not_found", "ro-unknown");
    await rejects(store.updateAttempt("ro-unknown", "latest", {}), "not_found", "ro-unknown");
    const { rollout_id: id } = await enqueue(store);
    await rejects(store.updateAttempt(id, "latest", { status: "failed" }), "not_found", id);
    await rejects(store.updateAttempt(id, "at-unknown", { status: "failed" }), "not_found", "at-unknown");
    expect(await store.getLatestAttempt(id)).toBe(null);
    expect(await store.getLatestAttempt("ro-unknown")).toBe(null);
    expect((await store.queryAttempts("ro-unknown")).total).toBe(0);
  });

  test("an attempt of another rollout is not found", async ({ store }) => {
    const one = await store.startRollout({ input: 1 });
    const two = await store.startRollout({ input: 2 });
    await rejects(
      store.updateAttempt(one.rollout_id, two.attempt.attempt_id, { status: "failed" }),
      "not_found",
      two.attempt.attempt_id,
    );
    expect(await store.getLatestAttempt(two.rollout_id)).toEqual(two.attempt);
  });

  test("a report changes the keys that are present and no others", async ({ store }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1, worker_id: "w" });
    const one = await store.updateAttempt(id, attempt.attempt_id, { metadata: { step: 1 } });
    expect(one).toEqual({ ...attempt, metadata: { step: 1 } });
    const two = await store.updateAttempt(id, "latest", { last_heartbeat_time: 123.5 });
    expect(two).toEqual({ ...attempt, metadata: { step: 1 }, last_heartbeat_time: 123.5 });
    const three = await store.updateAttempt(id, "latest", { worker_id: "v", status: "running" });
    expect(three).toEqual({ ...two, worker_id: "v", status: "running" });
    expect(await store.getLatestAttempt(id)).toEqual(three);
  });

  test("a report with a bad value changes nothing", async ({ store }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1 });
    await rejects(store.updateAttempt(id, "latest", { status: "done" as "failed" }), "invalid_argument");
    for (const key of ["status", "worker_id", "last_heartbeat_time", "metadata"]) {
      await rejects(store.updateAttempt(id, "latest", { [key]: null }), "invalid_argument", key);
    }
    expect(await store.getLatestAttempt(id)).toEqual(attempt);
  });

  const copied = ["preparing", "running", "succeeded"] as const;
  for (const status of copied) {
    test(`the rollout follows its attempt to ${status}`, async ({ store }) => {
      const { rollout_id: id } = await store.startRollout({ input: 1 });
      if (status === "preparing") await store.updateAttempt(id, "latest", { status: "running" });
      await store.updateAttempt(id, "latest", { status });
      expect(await store.getRollout(id)).toMatchObject({ status, attempt: { status } });
    });
  }

  for (const status of ["failed", "timeout", "unresponsive"] as const) {
    test(`an attempt that is ${status} fails its rollout when the policy has no retry`, async ({ store }) => {
      const others = (["failed", "timeout", "unresponsive"] as const).filter((other) => other !== status);
      await enqueue(store, { config: { max_attempts: 3, retry_condition: others } });
      const { rollout_id: id } = await claim(store);
      await store.updateAttempt(id, "latest", { status });
      const rollout = await store.getRollout(id);
      expect(rollout).toMatchObject({ status: "failed", attempt: { status } });
      expect(typeof rollout?.end_time).toBe("number");
      expect(typeof (await store.getLatestAttempt(id))?.end_time).toBe("number");
      expect(await store.dequeueRollouts()).toEqual([]);
    });

    test(`an attempt that is ${status} is retried up to the policy's limit`, async ({ store }) => {
      await enqueue(store, { input: "retried", config: { max_attempts: 2, retry_condition: [status] } });
      const { rollout_id: id } = await claim(store);
      await enqueue(store, { input: "other" });
      await store.updateAttempt(id, "latest", { status });
      expect(await store.getRollout(id)).toMatchObject({ status: "requeuing", end_time: null });
      expect((await claim(store)).input).toBe("other");
      const again = await claim(store);
      expect(again).toMatchObject({ rollout_id: id, status: "preparing", attempt: { sequence_id: 2 } });
      await store.updateAttempt(id, "latest", { status });
      expect((await store.getRollout(id))?.status).toBe("failed");
      expect(await store.dequeueRollouts()).toEqual([]);
    });
  }

  timed("the end of an attempt is its end time, and the rollout's", async ({ store, advance }) => {
    for (const status of ["succeeded", "failed", "timeout", "unresponsive"] as const) {
      const { rollout_id: id, start_time: start } = await store.startRollout({ input: 1 });
      advance(2);
      await store.updateAttempt(id, "latest", { status });
      const rollout = await store.getRollout(id);
      expect(rollout).toMatchObject({ end_time: start + 2, attempt: { status, end_time: start + 2 } });
    }
  });

  const ended: readonly AttemptStatus[] = ["succeeded", "failed", "timeout"];
  const open_: readonly AttemptStatus[] = ["preparing", "running", "unresponsive"];
  for (const status of ended) {
    timed(`an attempt that ended as ${status} does not go back`, async ({ store, advance }) => {
      const { rollout_id: id } = await store.startRollout({ input: 1 });
      const attempt = await store.updateAttempt(id, "latest", { status });
      const rollout = await store.getRollout(id);
      advance(9);
      for (const next of open_) {
        await rejects(store.updateAttempt(id, "latest", { status: next }), "conflict", status, next);
      }
      expect(await store.updateAttempt(id, "latest", { status })).toEqual(attempt);
      expect(await store.getRollout(id)).toEqual(rollout);
    });
  }

  test("an attempt that reported its end cannot report another", async ({ store }) => {
    for (const [first, second] of [
      ["succeeded", "failed"],
      ["failed", "succeeded"],
      ["succeeded", "timeout"],
      ["failed", "timeout"],
    ] as const) {
      const { rollout_id: id } = await store.startRollout({ input: 1 });
      await store.updateAttempt(id, "latest", { status: first });
      await rejects(store.updateAttempt(id, "latest", { status: second }), "conflict", first, second);
      expect(await store.getRollout(id)).toMatchObject({ status: first, attempt: { status: first } });
    }
  });

  test("an ended attempt still takes metadata", async ({ store }) => {
    const { rollout_id: id } = await store.startRollout({ input: 1 });
    await store.updateAttempt(id, "latest", { status: "succeeded" });
    const after = await store.updateAttempt(id, "latest", { metadata: { log: "url" } });
    expect(after).toMatchObject({ status: "succeeded", metadata: { log: "url" } });
    expect((await store.getRollout(id))?.status).toBe("succeeded");
  });
}
