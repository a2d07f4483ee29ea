/**
 * The contract of limits: what ends an attempt that is late or silent.
 *
 * @module
 */
import type { RolloutConfig } from "../../protocol/rollout.ts";
import type { LightningStore } from "../../store/interface.ts";
import { type ContractApi, claim, contractTests, enqueue, type OpenStore, sampleSpan } from "./harness.ts";

/** Tests of time-outs and silence. */
export function timeoutContract(open: OpenStore, api: ContractApi): void {
  const { expect } = api;
  const { timed } = contractTests(open, api);

  const claimWith = async (store: LightningStore, config: Partial<RolloutConfig>, workerId?: string) => {
    await enqueue(store, { config });
    return claim(store, workerId);
  };

  timed("an attempt over its time ends as timeout, not a moment earlier", async ({ store, advance }) => {
    const { rollout_id: id, attempt } = await claimWith(store, { timeout_seconds: 10 });
    advance(10);
    expect(await store.getLatestAttempt(id)).toEqual(attempt);
    advance(0.5);
    const end_time = attempt.start_time + 10.5;
    expect(await store.getLatestAttempt(id)).toEqual({ ...attempt, status: "timeout", end_time });
    expect(await store.getRollout(id)).toMatchObject({ status: "failed", end_time });
  });

  timed("spans do not extend the time in all", async ({ store, advance }) => {
    const first = await claimWith(store, { timeout_seconds: 10, unresponsive_seconds: 4 });
    for (let i = 1; i <= 3; i++) {
      advance(3);
      await store.addSpans([sampleSpan(first.attempt, i)]);
      expect((await store.getRollout(first.rollout_id))?.status).toBe("running");
    }
    advance(2);
    expect((await store.getLatestAttempt(first.rollout_id))?.status).toBe("timeout");
  });

  timed("a claim that nobody works on becomes unresponsive, counted from its start", async (context) => {
    const { store, advance } = context;
    const policy = { unresponsive_seconds: 5, max_attempts: 2, retry_condition: ["unresponsive" as const] };
    const { rollout_id: id, attempt } = await claimWith(store, policy);
    advance(5);
    expect((await store.getRollout(id))?.status).toBe("preparing");
    advance(1);
    expect(await store.getRollout(id)).toMatchObject({
      status: "requeuing",
      attempt: { attempt_id: attempt.attempt_id, status: "unresponsive", end_time: null },
    });
    expect(await claim(store)).toMatchObject({ rollout_id: id, attempt: { sequence_id: 2 } });
    advance(6);
    expect(await store.getRollout(id)).toMatchObject({
      status: "failed",
      attempt: { status: "unresponsive" },
    });
    expect(typeof (await store.getLatestAttempt(id))?.end_time).toBe("number");
  });

  timed(
    "attempts that end in one look go back to the queue in the order of their rollouts",
    async (context) => {
      const { store, advance } = context;
      const policy = { timeout_seconds: 5, max_attempts: 2, retry_condition: ["timeout" as const] };
      const first = await enqueue(store, { config: policy });
      const second = await enqueue(store, { config: policy });
      // The later rollout comes under watch first.
      await store.startAttempt(second.rollout_id);
      expect((await claim(store)).rollout_id).toBe(first.rollout_id);
      advance(6);
      const claimed = await store.dequeueRollouts({ limit: 3 });
      expect(claimed.map(({ rollout_id }) => rollout_id)).toEqual([first.rollout_id, second.rollout_id]);
    },
  );

  timed("silence is counted from the last span or heartbeat", async ({ store, advance }) => {
    const { rollout_id: id, attempt } = await claimWith(store, { unresponsive_seconds: 5 });
    advance(4);
    await store.addSpans([sampleSpan(attempt, 1)]);
    advance(4);
    const now = attempt.start_time + 8;
    await store.updateAttempt(id, "latest", { last_heartbeat_time: now });
    advance(5);
    expect((await store.getRollout(id))?.status).toBe("running");
    advance(0.5);
    expect((await store.getLatestAttempt(id))?.status).toBe("unresponsive");
  });

  timed("the time counts from the start of the attempt, not of the rollout", async ({ store, advance }) => {
    await enqueue(store, { config: { timeout_seconds: 10 } });
    advance(100);
    const { rollout_id: id } = await claim(store);
    advance(9);
    expect((await store.getRollout(id))?.status).toBe("preparing");
  });

  timed("without limits nothing ends by itself", async ({ store, advance }) => {
    const first = await claimWith(store, {});
    advance(1e9);
    expect(await store.getRollout(first.rollout_id)).toEqual(first);
  });

  timed("a retry has its own time, and waits at the tail of the queue", async ({ store, advance }) => {
    const policy = { timeout_seconds: 10, max_attempts: 2, retry_condition: ["timeout" as const] };
    const { rollout_id: id } = await claimWith(store, policy);
    await enqueue(store, { input: "other" });
    advance(11);
    const claimed = await store.dequeueRollouts({ limit: 5 });
    expect(claimed.map((rollout) => rollout.attempt.sequence_id)).toEqual([1, 2]);
    advance(9);
    expect((await store.getRollout(id))?.status).toBe("preparing");
    advance(2);
    expect((await store.getRollout(id))?.status).toBe("failed");
  });

  timed("finished, cancelled and superseded attempts are left alone", async ({ store, advance }) => {
    const policy = { timeout_seconds: 10 };
    const done = await claimWith(store, policy);
    await store.updateAttempt(done.rollout_id, "latest", { status: "succeeded" });
    const cancelled = await claimWith(store, policy);
    await store.updateRollout(cancelled.rollout_id, { status: "cancelled" });
    const first = await claimWith(store, policy);
    advance(8);
    const second = await store.startAttempt(first.rollout_id);
    advance(8);
    expect((await store.getRollout(done.rollout_id))?.status).toBe("succeeded");
    expect((await store.getLatestAttempt(cancelled.rollout_id))?.status).toBe("preparing");
    expect(await store.getRollout(first.rollout_id)).toEqual(second);
    expect((await store.queryAttempts(first.rollout_id)).items[0]?.status).toBe("preparing");
  });

  timed("a limit that is set later holds", async ({ store, advance }) => {
    const { rollout_id: id } = await claimWith(store, {});
    advance(50);
    await store.updateRollout(id, { config: { timeout_seconds: 60 } });
    expect((await store.getRollout(id))?.status).toBe("preparing");
    advance(11);
    expect((await store.getRollout(id))?.status).toBe("failed");
  });

  timed("limits show in queries, and `latest` follows the retry", async ({ store, advance }) => {
    const policy = { timeout_seconds: 1, max_attempts: 2, retry_condition: ["timeout" as const] };
    const first = await claimWith(store, policy);
    await store.addSpans([sampleSpan(first.attempt, 1)]);
    advance(2);
    expect((await store.queryRollouts({ status_in: ["requeuing"] })).total).toBe(1);
    await claim(store);
    const latest = await store.querySpans({ rollout_id: first.rollout_id, attempt_id: "latest" });
    expect(latest.items).toEqual([]);
    advance(2);
    expect((await store.queryRollouts({ status_in: ["failed"] })).total).toBe(1);
    expect((await store.queryAttempts(first.rollout_id)).items.map(({ status }) => status)).toEqual([
      "timeout",
      "timeout",
    ]);
  });
}
