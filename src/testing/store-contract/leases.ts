/**
 * The contract of attempts as leases: only the current attempt moves its rollout, and nothing that arrives late is lost.
 *
 * @module
 */
import type { AttemptedRollout } from "../../protocol/rollout.ts";
import type { LightningStore } from "../../store/interface.ts";
import { type ContractApi, claim, contractTests, enqueue, type OpenStore, sampleSpan } from "./harness.ts";

/** Tests of late and superseded attempts, and of cancelled rollouts. */
export function leaseContract(open: OpenStore, api: ContractApi): void {
  const { expect } = api;
  const { test, timed, rejects } = contractTests(open, api);

  const retried = async (store: LightningStore, status: "timeout" | "unresponsive" | "failed") => {
    await enqueue(store, { config: { max_attempts: 3, retry_condition: [status] } });
    const first = await claim(store);
    await store.updateAttempt(first.rollout_id, first.attempt.attempt_id, { status });
    return first;
  };
  const statusOf = async (store: LightningStore, { rollout_id }: AttemptedRollout) =>
    (await store.getRollout(rollout_id))?.status;

  for (const status of ["timeout", "failed"] as const) {
    test(`a late span of an attempt that ended as ${status} does not take its retry from the queue`, async (context) => {
      const { store } = context;
      const first = await retried(store, status);
      const [result] = await store.addSpans([sampleSpan(first.attempt, 1)]);
      expect(result?.status).toBe("stored");
      expect(await statusOf(store, first)).toBe("requeuing");
      const after = await store.getLatestAttempt(first.rollout_id);
      expect(after?.status).toBe(status);
      expect(typeof after?.last_heartbeat_time).toBe("number");
      const second = await claim(store);
      expect(second).toMatchObject({ rollout_id: first.rollout_id, attempt: { sequence_id: 2 } });
    });
  }

  test("a late result after a time-out is kept as evidence and changes no rollout", async ({ store }) => {
    for (const status of ["succeeded", "failed"] as const) {
      const first = await retried(store, "timeout");
      const { rollout_id: id, attempt } = first;
      const late = await store.updateAttempt(id, attempt.attempt_id, { status, metadata: { a: 1 } });
      expect(late).toMatchObject({
        status: "timeout",
        metadata: { a: 1, "agentlightning.late_result": { status } },
      });
      expect(await statusOf(store, first)).toBe("requeuing");
      const second = await claim(store);
      await store.updateAttempt(id, attempt.attempt_id, { status });
      expect(await store.getRollout(id)).toEqual(second);
    }
  });

  test("a time-out without retry stays a failure whatever comes later", async ({ store }) => {
    const first = await store.startRollout({ input: 1 });
    await store.updateAttempt(first.rollout_id, "latest", { status: "timeout" });
    await store.addSpans([sampleSpan(first.attempt, 1)]);
    await store.updateAttempt(first.rollout_id, "latest", { status: "succeeded" });
    expect(await store.getRollout(first.rollout_id)).toMatchObject({
      status: "failed",
      attempt: { status: "timeout" },
    });
  });

  test("an unresponsive attempt that shows life before its retry takes the rollout back", async (context) => {
    const { store } = context;
    const first = await retried(store, "unresponsive");
    expect((await store.getLatestAttempt(first.rollout_id))?.end_time).toBe(null);
    await store.addSpans([sampleSpan(first.attempt, 1)]);
    expect(await store.getRollout(first.rollout_id)).toMatchObject({
      status: "running",
      attempt: { status: "running", sequence_id: 1 },
    });
    expect(await store.dequeueRollouts()).toEqual([]);
    await store.updateAttempt(first.rollout_id, "latest", { status: "succeeded" });
    expect(await statusOf(store, first)).toBe("succeeded");
  });

  for (const [status, outcome] of [
    ["running", "running"],
    ["succeeded", "succeeded"],
    ["failed", "failed"],
  ] as const) {
    test(`an unresponsive attempt that reports ${status} before its retry is believed`, async ({ store }) => {
      const first = await retried(store, "unresponsive");
      await store.updateAttempt(first.rollout_id, "latest", { status });
      expect(await statusOf(store, first)).toBe(outcome);
      expect(await store.dequeueRollouts()).toEqual([]);
    });
  }

  timed("an unresponsive attempt that was superseded decides nothing any more", async (context) => {
    const { store, advance } = context;
    const first = await retried(store, "unresponsive");
    const { rollout_id: id, attempt } = first;
    advance(3);
    const second = await claim(store);
    const [silent] = (await store.queryAttempts(id)).items;
    expect(silent).toMatchObject({ status: "unresponsive", end_time: second.attempt.start_time });
    await store.addSpans([sampleSpan(attempt, 1)]);
    expect(await store.getRollout(id)).toEqual(second);
    const [revived] = (await store.queryAttempts(id)).items;
    expect(revived).toMatchObject({ status: "running", end_time: null });
    await store.updateAttempt(id, attempt.attempt_id, { status: "succeeded" });
    expect(await store.getRollout(id)).toEqual(second);
    const [finished] = (await store.queryAttempts(id)).items;
    expect(finished).toMatchObject({ status: "succeeded", end_time: attempt.start_time + 3 });
  });

  test("only the current of two live attempts finishes the rollout", async ({ store }) => {
    const first = await store.startRollout({ input: 1 });
    const second = await store.startAttempt(first.rollout_id);
    for (const status of ["running", "failed"] as const) {
      await store.updateAttempt(first.rollout_id, first.attempt.attempt_id, { status });
      expect(await store.getRollout(first.rollout_id)).toEqual(second);
    }
    await store.updateAttempt(first.rollout_id, second.attempt.attempt_id, { status: "succeeded" });
    expect(await statusOf(store, first)).toBe("succeeded");
  });

  test("a rollout sent back to the queue by hand stays there whatever its attempt does", async ({
    store,
  }) => {
    const first = await store.startRollout({ input: 1 });
    await store.updateRollout(first.rollout_id, { status: "requeuing" });
    await store.addSpans([sampleSpan(first.attempt, 1)]);
    expect(await statusOf(store, first)).toBe("requeuing");
    await store.updateAttempt(first.rollout_id, first.attempt.attempt_id, { status: "succeeded" });
    expect(await store.getRollout(first.rollout_id)).toMatchObject({
      status: "requeuing",
      attempt: { status: "succeeded" },
    });
    expect((await claim(store)).attempt.sequence_id).toBe(2);
  });

  for (const status of ["running", "succeeded", "failed", "timeout", "unresponsive"] as const) {
    test(`a cancelled rollout stays cancelled when its attempt reports ${status}`, async ({ store }) => {
      const config = { max_attempts: 5, retry_condition: ["failed", "timeout", "unresponsive"] as const };
      const first = await store.startRollout({
        input: 1,
        config: { ...config, retry_condition: [...config.retry_condition] },
      });
      const { rollout_id: id } = first;
      await store.updateRollout(id, { status: "cancelled" });
      const { end_time } = (await store.getRollout(id)) as AttemptedRollout;
      const attempt = await store.updateAttempt(id, first.attempt.attempt_id, { status });
      expect(attempt.status).toBe(status);
      expect(await store.getRollout(id)).toMatchObject({ status: "cancelled", end_time });
      expect(await store.dequeueRollouts()).toEqual([]);
    });
  }

  test("spans of a cancelled rollout are kept", async ({ store }) => {
    const first = await store.startRollout({ input: 1 });
    await store.updateRollout(first.rollout_id, { status: "cancelled" });
    const [result] = await store.addSpans([sampleSpan(first.attempt, 1)]);
    expect(result?.status).toBe("stored");
    expect(await statusOf(store, first)).toBe("cancelled");
    await rejects(store.startAttempt(first.rollout_id), "conflict");
  });
}
