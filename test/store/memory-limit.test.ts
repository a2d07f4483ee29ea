import { expect, it } from "vitest";
import { openMemoryStore } from "../../src/store/index.ts";
import { claim, enqueue, sampleSpan } from "../../src/testing/store-contract/harness.ts";

it("a memory store over its limit refuses the whole batch and keeps all it has", async () => {
  const measuring = await openMemoryStore();
  await enqueue(measuring);
  const { attempt: measured } = await claim(measuring);
  await measuring.addSpans([sampleSpan(measured, 1)]);
  const bytes = (await measuring.statistics()).total_span_bytes as number;
  expect(bytes).toBeGreaterThan(100);

  const store = await openMemoryStore({ maxSpanBytes: 3 * bytes, now: () => 1_000 });
  await enqueue(store);
  const { rollout_id: id, attempt } = await claim(store);
  await store.addSpans([sampleSpan(attempt, 1), sampleSpan(attempt, 2)]);
  const before = await store.getRollout(id);
  await expect(store.addSpans([sampleSpan(attempt, 3), sampleSpan(attempt, 4)])).rejects.toMatchObject({
    code: "unavailable",
    retryable: false,
    message: expect.stringContaining("maxSpanBytes"),
  });
  expect(await store.statistics()).toMatchObject({ total_spans: 2, total_span_bytes: 2 * bytes });
  expect(await store.getRollout(id)).toEqual(before);
  const [third] = await store.addSpans([sampleSpan(attempt, 4)]);
  expect(third).toMatchObject({ status: "stored", span: { sequence_id: 3 } });
  expect((await store.querySpans({ rollout_id: id })).total).toBe(3);
});
