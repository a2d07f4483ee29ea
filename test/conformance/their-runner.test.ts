/**
 * The Python runner at work for our client: tasks that we enqueue are executed by Python agents, their spans arrive over
 * OTLP, and our readers find their rewards. The Python server stands beside ours to show that nothing differs.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLightningStoreClient, type LightningStoreClient } from "../../src/client/client.ts";
import { readReward } from "../../src/protocol/reward.ts";
import { python } from "./python-package.ts";
import { ALL_SERVERS, type ServedStore } from "./served-stores.ts";

const PROMPT = { resource_type: "prompt_template", template: "{a} times {b}", engine: "f-string" } as const;

describe.each(Object.entries(ALL_SERVERS))("%s", (_, open) => {
  let server: ServedStore;
  let store: LightningStoreClient;

  beforeAll(async () => {
    server = await open();
    store = createLightningStoreClient({ url: server.url });
    await store.addResources({ main_prompt: PROMPT });
  });
  afterAll(async () => {
    await store.close();
    await server.close();
  });

  async function spansOf(rollout_id: string) {
    return (await store.querySpans({ rollout_id })).items;
  }

  it("runs tasks and stores the numbers that they return as rewards", async () => {
    const tasks = [
      { a: 2, b: 3 },
      { a: 4, b: 0.5 },
      { a: -1, b: 7 },
    ];
    const train = await store.enqueueRollouts(tasks.map((input) => ({ input, mode: "train" })));
    const val = await store.enqueueRollouts([{ input: { a: 1, b: 1 }, mode: "val" }]);
    const waiting = store.waitForRollouts(
      [...train, ...val].map((rollout) => rollout.rollout_id),
      { timeoutSeconds: 60 },
    );
    await python.runAgent(server.url, "scalar", 4);
    expect((await waiting).map((rollout) => rollout.status)).toEqual(Array(4).fill("succeeded"));
    const rewards = [6, 2, -7, -1];
    for (const [i, { rollout_id }] of [...train, ...val].entries()) {
      const spans = await spansOf(rollout_id);
      expect(spans.flatMap(readReward)).toEqual([{ name: "primary", value: rewards[i] }]);
      expect(await python.rewards(server.url, rollout_id)).toEqual({
        each: [[{ name: "primary", value: rewards[i] }]],
        final: rewards[i],
      });
    }
  });

  it("takes what the emitters send, in order and with its parents", async () => {
    const [rollout] = await store.enqueueRollouts([
      { input: { topic: "ünïts", correct: 0.75 }, mode: "train" },
    ]);
    const rollout_id = rollout?.rollout_id ?? "";
    await python.runAgent(server.url, "emitting", 1, 3);
    expect(await store.getRollout(rollout_id)).toMatchObject({
      status: "succeeded",
      attempt: { status: "succeeded", worker_id: "Worker-3", sequence_id: 1 },
    });
    const spans = await spansOf(rollout_id);
    expect(spans.map((span) => span.name)).toEqual([
      "agentlightning.message",
      "agentlightning.object",
      "agentlightning.operation",
      "agentlightning.annotation",
      "agentlightning.annotation",
    ]);
    expect(spans.map((span) => span.sequence_id)).toEqual([1, 2, 3, 4, 5]);
    expect(spans.map(readReward)).toEqual([
      [],
      [],
      [],
      [{ name: "primary", value: 0.25 }],
      [
        { name: "correct", value: 0.75 },
        { name: "short", value: 1 },
      ],
    ]);
    expect(spans[0]?.attributes).toMatchObject({ "agentlightning.message.body": "thinking about ünïts" });
    expect(JSON.parse(String(spans[1]?.attributes["agentlightning.object.json"]))).toEqual({
      topic: "ünïts",
      scores: [1, 2, 3],
    });
    expect(spans[2]?.attributes).toMatchObject({
      "agentlightning.operation.name": "grade",
      "agentlightning.operation.input.topic": "ünïts",
      "agentlightning.operation.output.points": 3,
    });
    for (const span of spans) {
      expect(span.rollout_id).toBe(rollout_id);
      expect(span.start_time ?? 0).toBeGreaterThan(1.7e9);
      expect(span.end_time ?? 0).toBeGreaterThanOrEqual(span.start_time ?? 0);
      expect(span.context).toMatchObject({ trace_id: span.trace_id, span_id: span.span_id });
      expect(span.resource.attributes).toMatchObject({ "agentlightning.rollout_id": rollout_id });
    }
    // A tree and triplets can be made of them: none, for there was no model call.
    expect(await python.triplets(server.url, rollout_id)).toEqual([]);
  });

  it("takes rewards of coroutines, with tags and links", async () => {
    const [rollout] = await store.enqueueRollouts([{ input: { value: 0.5 } }]);
    await python.runAgent(server.url, "async", 1);
    const [span, ...others] = await spansOf(rollout?.rollout_id ?? "");
    expect(others).toEqual([]);
    expect(span?.attributes).toMatchObject({
      "agentlightning.reward.0.value": 0.5,
      "agentlightning.tag.0": "fast",
      "agentlightning.tag.1": "sure",
      "agentlightning.link.0.key_match": "gen_ai.response.id",
      "agentlightning.link.0.value_match": "chatcmpl-1",
    });
  });

  it("runs a decorated function with the prompt of the rollout's own resources", async () => {
    const other = await store.addResources({ main_prompt: { ...PROMPT, template: "{a}" } });
    const first = await store.queryResources({ sort_by: "create_time", limit: 1 });
    const [mine, latest] = await store.enqueueRollouts([
      { input: { a: "xxx", b: "y" }, resources_id: first.items[0]?.resources_id ?? "" },
      { input: { a: "xxx", b: "y" } },
    ]);
    expect(latest?.resources_id).toBe(other.resources_id);
    await python.runAgent(server.url, "decorated", 2);
    const rewards = await Promise.all(
      [mine, latest].map(async (rollout) => (await spansOf(rollout?.rollout_id ?? "")).flatMap(readReward)),
    );
    expect(rewards.map((reward) => reward[0]?.value)).toEqual(["xxx times y".length, 3]);
  });

  it("tries again what fails, as often as the rollout allows", async () => {
    const retry = { max_attempts: 3, retry_condition: ["failed" as const] };
    const [heals, dies, once] = await store.enqueueRollouts([
      { input: { failures: 2 }, config: retry },
      { input: { failures: 5 }, config: retry },
      { input: { failures: 1 } },
    ]);
    await python.runAgent(server.url, "flaky", 3 + 3 + 1);
    const ends = await Promise.all(
      [heals, dies, once].map(async (rollout) => {
        const rollout_id = rollout?.rollout_id ?? "";
        const attempts = await store.queryAttempts(rollout_id);
        return [
          (await store.getRollout(rollout_id))?.status,
          attempts.items.map((attempt) => attempt.status),
        ];
      }),
    );
    expect(ends).toEqual([
      ["succeeded", ["failed", "failed", "succeeded"]],
      ["failed", ["failed", "failed", "failed"]],
      ["failed", ["failed"]],
    ]);
    const { items } = await store.querySpans({ rollout_id: heals?.rollout_id ?? "", attempt_id: "latest" });
    expect(items.flatMap(readReward)).toEqual([{ name: "primary", value: 3 }]);
  });

  it("hears the runner's heartbeats", async () => {
    await store.enqueueRollouts([{ input: {}, mode: "train" }]);
    await python.runAgent(server.url, "patient", 1);
    const worker = await store.getWorker("Worker-0");
    expect(worker).toMatchObject({
      status: "idle",
      last_heartbeat_time: expect.any(Number),
      last_dequeue_time: expect.any(Number),
      current_rollout_id: null,
      heartbeat_stats: { cpu_cores: expect.any(Number), mem_total_gb: expect.any(Number) },
    });
  });
});
