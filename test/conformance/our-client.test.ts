/** Our HTTP client against the Python store server, and against ours: no difference may show. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLightningStoreClient, type LightningStoreClient } from "../../src/client/client.ts";
import { AglError } from "../../src/errors.ts";
import type { SpanInput } from "../../src/store/interface.ts";
import { ALL_SERVERS, type ServedStore } from "./served-stores.ts";

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (value) => value,
    (error: unknown) => (AglError.is(error) ? error.code : error),
  );
}

let serial = 0;
function spanOf(rolloutId: string, attemptId: string, more: Partial<SpanInput> = {}): SpanInput {
  serial += 1;
  const span_id = serial.toString(16).padStart(16, "0");
  return {
    rollout_id: rolloutId,
    attempt_id: attemptId,
    trace_id: "ab".repeat(16),
    span_id,
    parent_id: null,
    name: "work",
    status: { status_code: "OK", description: null },
    attributes: { text: "héllo 🌍", count: 3, ratio: 0.5, ok: true, ids: [1, 2, 3], words: ["a", "b"] },
    events: [{ name: "note", attributes: { n: 1 }, timestamp: 1_700_000_000.25 }],
    links: [],
    start_time: 1_700_000_000.125,
    end_time: 1_700_000_001.5,
    context: { trace_id: "ab".repeat(16), span_id, is_remote: false, trace_state: {} },
    parent: null,
    resource: { attributes: { "service.name": "t" }, schema_url: "" },
    ...more,
  };
}

describe.each(Object.entries(ALL_SERVERS))("%s", (_, open) => {
  let server: ServedStore;
  let store: LightningStoreClient;

  beforeAll(async () => {
    server = await open();
    store = createLightningStoreClient({ url: server.url, retry: { tries: 1 } });
  });
  afterAll(async () => {
    await store.close();
    await server.close();
  });

  describe("rollouts", () => {
    it("enqueues, claims in order, finishes", async () => {
      const [first, second] = await store.enqueueRollouts([
        {
          input: { q: "1 + 1" },
          mode: "train",
          metadata: { set: "a" },
          config: { max_attempts: 2, retry_condition: ["failed"] },
        },
        { input: [1, null, "x"], mode: "val" },
      ]);
      expect(first).toMatchObject({
        rollout_id: expect.stringMatching(/^ro-[0-9a-f]{12}$/),
        input: { q: "1 + 1" },
        mode: "train",
        status: "queuing",
        metadata: { set: "a" },
        config: {
          max_attempts: 2,
          retry_condition: ["failed"],
          timeout_seconds: null,
          unresponsive_seconds: null,
        },
      });
      const claimed = await store.dequeueRollouts({ limit: 5, worker_id: "ts-1" });
      expect(claimed.map((rollout) => rollout.rollout_id)).toEqual([first?.rollout_id, second?.rollout_id]);
      expect(claimed[0]).toMatchObject({
        status: "preparing",
        attempt: { sequence_id: 1, status: "preparing", worker_id: "ts-1" },
      });
      expect(await store.dequeueRollouts()).toEqual([]);
      expect(await store.dequeueRollouts({ limit: 0 })).toEqual([]);
      const [one, two] = claimed;
      if (one === undefined || two === undefined) throw new Error("nothing claimed");

      await store.updateAttempt(one.rollout_id, one.attempt.attempt_id, { status: "failed" });
      expect(await store.getRollout(one.rollout_id)).toMatchObject({ status: "requeuing" });
      const [again] = await store.dequeueRollouts({ worker_id: "ts-2" });
      expect(again).toMatchObject({ rollout_id: one.rollout_id, attempt: { sequence_id: 2 } });
      await store.updateAttempt(one.rollout_id, "latest", { status: "succeeded", metadata: { done: true } });
      expect(await store.getRollout(one.rollout_id)).toMatchObject({
        status: "succeeded",
        end_time: expect.any(Number),
        attempt: { sequence_id: 2, status: "succeeded", metadata: { done: true } },
      });
      const attempts = await store.queryAttempts(one.rollout_id, {
        sort_by: "sequence_id",
        sort_order: "desc",
        limit: 1,
      });
      expect(attempts).toMatchObject({ total: 2, limit: 1, items: [{ sequence_id: 2 }] });
      expect(await store.getLatestAttempt(one.rollout_id)).toMatchObject({ sequence_id: 2 });

      await store.updateRollout(two.rollout_id, { status: "cancelled", metadata: null, input: "new" });
      expect(await store.getRollout(two.rollout_id)).toMatchObject({
        status: "cancelled",
        input: "new",
        metadata: null,
      });
      const page = await store.queryRollouts({
        status_in: ["cancelled", "succeeded"],
        rollout_id_in: [two.rollout_id, one.rollout_id],
        sort_by: "start_time",
        sort_order: "desc",
      });
      expect(page.total).toBe(2);
    });

    it("starts rollouts and attempts past the queue", async () => {
      const started = await store.startRollout({ input: "x", mode: "test", worker_id: "ts-3" });
      expect(started).toMatchObject({ status: "preparing", attempt: { sequence_id: 1, worker_id: "ts-3" } });
      const second = await store.startAttempt(started.rollout_id, { worker_id: "ts-4" });
      expect(second).toMatchObject({ attempt: { sequence_id: 2, worker_id: "ts-4" } });
      expect(await store.nextSequenceId(started.rollout_id, second.attempt.attempt_id)).toBe(1);
      expect(await store.nextSequenceId(started.rollout_id, started.attempt.attempt_id)).toBe(2);
    });

    it("tells what is unknown from what is wrong", async () => {
      expect(await store.getRollout("ro-unknown")).toBeNull();
      expect(await store.getLatestAttempt("ro-unknown")).toBeNull();
      expect(await store.getResources("rs-unknown")).toBeNull();
      expect(await store.getWorker("w-unknown")).toBeNull();
      expect((await store.queryAttempts("ro-unknown")).items).toEqual([]);
      expect(await codeOf(store.updateRollout("ro-unknown", { status: "cancelled" }))).toBe("not_found");
      expect(await codeOf(store.startAttempt("ro-unknown"))).toBe("not_found");
      expect(await codeOf(store.updateAttempt("ro-unknown", "latest", { status: "failed" }))).toBe(
        "not_found",
      );
      const { rollout_id } = await store.startRollout({ input: 1 });
      expect(await codeOf(store.updateAttempt(rollout_id, "at-unknown", { status: "failed" }))).toBe(
        "not_found",
      );
      expect(await codeOf(store.queryRollouts({ sort_by: "colour" }))).toBe("invalid_argument");
      expect(await codeOf(store.queryRollouts({ limit: 0 }))).toBe("invalid_argument");
      expect(await codeOf(store.updateRollout(rollout_id, { status: "lost" as never }))).toBe(
        "invalid_argument",
      );
    });
  });

  describe("waits", () => {
    it("waits until rollouts end, for longer than the Python client may", async () => {
      const rollouts = await Promise.all(
        Array.from({ length: 40 }, (_, i) => store.startRollout({ input: i })),
      );
      const ids = rollouts.map((rollout) => rollout.rollout_id);
      let resolved = false;
      const waiting = store.waitForRollouts(["ro-unknown", ...ids], { timeoutSeconds: 100 }).then((done) => {
        resolved = true;
        return done;
      });
      for (const { rollout_id, attempt } of rollouts) {
        expect(resolved).toBe(false);
        await store.updateAttempt(rollout_id, attempt.attempt_id, { status: "succeeded" });
      }
      expect((await waiting).map((rollout) => [rollout.rollout_id, rollout.status])).toEqual(
        ids.map((id) => [id, "succeeded"]),
      );
    });

    it("gives up at its limit, with what is finished", async () => {
      const [open, ended] = await Promise.all([
        store.startRollout({ input: 1 }),
        store.startRollout({ input: 2 }),
      ]);
      await store.updateAttempt(ended.rollout_id, "latest", { status: "failed" });
      const ids = [open.rollout_id, ended.rollout_id];
      expect(await store.waitForRollouts(ids, { timeoutSeconds: 0.2 })).toMatchObject([
        { rollout_id: ended.rollout_id },
      ]);
      expect(await store.waitForRollouts(ids, { timeoutSeconds: 0 })).toMatchObject([{ status: "failed" }]);
    });
  });

  describe("spans", () => {
    it("stores them with all keys, tells duplicates and what cannot be placed", async () => {
      const { rollout_id, attempt } = await store.startRollout({ input: 1 });
      const a = spanOf(rollout_id, attempt.attempt_id, { sequence_id: 7 });
      const b = spanOf(rollout_id, attempt.attempt_id, { parent_id: a.span_id, name: "inner" });
      const lost = spanOf("ro-unknown", "at-unknown", { sequence_id: 1 });
      const nowhere = spanOf(rollout_id, "at-unknown", { sequence_id: 1 });
      const results = await store.addSpans([a, { ...a, name: "again" }, lost, nowhere, b]);
      expect(results.map((result) => result.status)).toEqual([
        "stored",
        "duplicate",
        "rejected",
        "rejected",
        "stored",
      ]);
      expect(results[0]).toEqual({ status: "stored", span: a });
      expect(results[1]).toEqual({ status: "duplicate", span: a });
      expect(results[4]).toEqual({ status: "stored", span: { ...b, sequence_id: 8 } });
      expect((await store.querySpans({ rollout_id })).items).toEqual([a, { ...b, sequence_id: 8 }]);
      expect(
        (await store.querySpans({ rollout_id, attempt_id: "latest", name_contains: "inn" })).items,
      ).toMatchObject([{ span_id: b.span_id }]);
      expect(
        (
          await store.querySpans({
            rollout_id,
            name: "work",
            parent_id: a.span_id,
            filter_logic: "or",
            sort_order: "desc",
          })
        ).items,
      ).toMatchObject([{ sequence_id: 8 }, { sequence_id: 7 }]);
      expect(await store.querySpans({ rollout_id: "ro-unknown" })).toMatchObject({ items: [], total: 0 });
      expect(await store.getRollout(rollout_id)).toMatchObject({
        status: "running",
        attempt: { status: "running" },
      });
    });
  });

  describe("resources, workers, statistics", () => {
    it("adds, replaces and reads resources", async () => {
      const llm = {
        resource_type: "llm",
        endpoint: "http://m/v1",
        model: "toy",
        api_key: null,
        sampling_parameters: { temperature: 0.5 },
      } as const;
      const prompt = { resource_type: "prompt_template", template: "Say {x}", engine: "f-string" } as const;
      const added = await store.addResources({ main_llm: llm });
      expect(added).toMatchObject({ version: 1, resources: { main_llm: llm } });
      const updated = await store.updateResources(added.resources_id, { main_llm: llm, prompt });
      expect(updated).toMatchObject({ version: 2, resources: { prompt } });
      expect(await store.getResources(added.resources_id)).toEqual(updated);
      const other = await store.updateResources("rs-mine", { prompt });
      expect(await store.getLatestResources()).toEqual(other);
      expect(
        await store.queryResources({
          resources_id_contains: "mine",
          sort_by: "version",
          sort_order: "desc",
          limit: 3,
          offset: 0,
        }),
      ).toMatchObject({ total: 1, items: [{ resources_id: "rs-mine" }] });
      const [bound] = await store.enqueueRollouts([{ input: 1, resources_id: added.resources_id }]);
      expect(bound?.resources_id).toBe(added.resources_id);
      await store.dequeueRollouts();
    });

    it("keeps workers", async () => {
      expect(
        await store.updateWorker("host/ü 1".replace("/", "-"), { heartbeat_stats: { cpu: 4 } }),
      ).toMatchObject({
        worker_id: "host-ü 1",
        heartbeat_stats: { cpu: 4 },
        last_heartbeat_time: expect.any(Number),
      });
      expect(await store.updateWorker("w-2")).toMatchObject({ worker_id: "w-2" });
      expect(await store.getWorker("w-2")).toMatchObject({ status: "unknown" });
      expect(await store.queryWorkers({ worker_id_contains: "w-", limit: 1 })).toMatchObject({
        total: 1,
        limit: 1,
      });
      expect(
        (await store.queryWorkers({ status_in: ["busy"] })).items.every((worker) => worker.status === "busy"),
      ).toBe(true);
    });

    it("reads statistics", async () => {
      expect(await store.statistics()).toMatchObject({ total_rollouts: expect.any(Number), total_spans: 2 });
    });
  });
});
