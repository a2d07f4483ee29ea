/**
 * The contract of spans and their sequence ids.
 *
 * @module
 */
import type { Span } from "../../protocol/span.ts";
import type { AddSpanResult } from "../../store/interface.ts";
import { type ContractApi, claim, contractTests, enqueue, type OpenStore, sampleSpan } from "./harness.ts";

/** Tests of storing, placing and reading spans. */
export function spanContract(open: OpenStore, api: ContractApi): void {
  const { expect } = api;
  const { test, timed, rejects } = contractTests(open, api);
  const sequences = (results: AddSpanResult[]) =>
    results.map((result) => (result.status === "rejected" ? result.reason : result.span.sequence_id));

  test("a span comes back as it was given", async ({ store }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1 });
    const input = { ...sampleSpan(attempt, 1), sequence_id: 7, "x.extra": { kept: [1, null] } };
    const [result] = await store.addSpans([input]);
    expect(result).toEqual({ status: "stored", span: input });
    const page = await store.querySpans({ rollout_id: id });
    expect(page).toEqual({ items: [input as unknown as Span], limit: -1, offset: 0, total: 1 });
  });

  test("a span with nothing set comes back with nothing set", async ({ store }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1 });
    const bare = {
      parent_id: null,
      start_time: null,
      end_time: null,
      context: null,
      attributes: {},
      events: [],
      links: [],
      status: { status_code: "UNSET" as const, description: null },
      resource: { attributes: {}, schema_url: "" },
    };
    const span = sampleSpan(attempt, 1, bare);
    await store.addSpans([span]);
    expect((await store.querySpans({ rollout_id: id })).items).toEqual([{ ...span, sequence_id: 1 } as Span]);
  });

  timed("a span is a sign of life", async ({ store, advance }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1 });
    advance(3);
    await store.addSpans([sampleSpan(attempt, 1)]);
    const heartbeat = { last_heartbeat_time: attempt.start_time + 3, status: "running" as const };
    expect(await store.getRollout(id)).toMatchObject({
      status: "running",
      attempt: { ...attempt, ...heartbeat },
    });
    advance(3);
    await store.addSpans([sampleSpan(attempt, 2)]);
    expect((await store.getLatestAttempt(id))?.last_heartbeat_time).toBe(attempt.start_time + 6);
  });

  timed("a finished attempt takes spans and stays finished", async ({ store, advance }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1 });
    await store.updateAttempt(id, "latest", { status: "succeeded" });
    const rollout = await store.getRollout(id);
    advance(4);
    const [result] = await store.addSpans([sampleSpan(attempt, 1)]);
    expect(result?.status).toBe("stored");
    const last_heartbeat_time = attempt.start_time + 4;
    expect(await store.getRollout(id)).toMatchObject({
      status: "succeeded",
      end_time: rollout?.end_time as number,
      attempt: { status: "succeeded", last_heartbeat_time },
    });
  });

  timed("the first of two spans with one id stays, and the second is told apart", async (context) => {
    const { store, advance } = context;
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1 });
    const first = sampleSpan(attempt, 1, { name: "first" });
    const again = sampleSpan(attempt, 1, { name: "second" });
    const results = await store.addSpans([first, again]);
    expect(results.map(({ status }) => status)).toEqual(["stored", "duplicate"]);
    const before = await store.getLatestAttempt(id);
    advance(2);
    const [repeated] = await store.addSpans([{ ...again, sequence_id: 50 }]);
    const kept = { ...first, sequence_id: 1 } as Span;
    expect(repeated).toEqual({ status: "duplicate", span: kept });
    expect((await store.querySpans({ rollout_id: id })).items).toEqual([kept]);
    // A repeated delivery is neither news nor life.
    expect(await store.getLatestAttempt(id)).toEqual(before);
    expect(await store.nextSequenceId(id, attempt.attempt_id)).toBe(2);
  });

  test("one span id in two attempts is two spans", async ({ store }) => {
    const first = await store.startRollout({ input: 1 });
    const second = await store.startAttempt(first.rollout_id);
    const other = await store.startRollout({ input: 2 });
    const results = await store.addSpans([first, second, other].map(({ attempt }) => sampleSpan(attempt, 1)));
    expect(results.map(({ status }) => status)).toEqual(["stored", "stored", "stored"]);
    expect(sequences(results)).toEqual([1, 2, 1]);
  });

  test("a span that cannot be placed is told apart, and the others are stored", async ({ store }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1 });
    const lost = { rollout_id: "ro-unknown", attempt_id: "at-unknown" };
    const results = await store.addSpans([
      sampleSpan(attempt, 1),
      sampleSpan(lost, 2),
      sampleSpan({ rollout_id: id, attempt_id: "at-unknown" }, 3),
      sampleSpan(attempt, 4),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["stored", "rejected", "rejected", "stored"]);
    expect(JSON.stringify(results[1]).includes("ro-unknown")).toBe(true);
    expect(JSON.stringify(results[2]).includes("at-unknown")).toBe(true);
    expect((await store.querySpans({ rollout_id: id })).total).toBe(2);
    expect((await store.querySpans({ rollout_id: "ro-unknown" })).total).toBe(0);
    expect(await store.nextSequenceId(id, attempt.attempt_id)).toBe(3);
  });

  test("spans of several attempts in one batch", async ({ store }) => {
    const made = await Promise.all([1, 2, 3].map((input) => store.startRollout({ input })));
    const batch = [1, 2].flatMap((index) => made.map(({ attempt }) => sampleSpan(attempt, index)));
    expect(sequences(await store.addSpans(batch))).toEqual([1, 1, 1, 2, 2, 2]);
    for (const { rollout_id } of made) {
      expect((await store.querySpans({ rollout_id })).items.map((span) => span.sequence_id)).toEqual([1, 2]);
      expect((await store.getRollout(rollout_id))?.status).toBe("running");
    }
  });

  test("a batch of no spans", async ({ store }) => {
    expect(await store.addSpans([])).toEqual([]);
  });

  test("a sequence id that is missing, zero or negative is issued, in the order of arrival", async (context) => {
    const { store } = context;
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1 });
    const given = [undefined, 0, -1, null, 10, undefined, 4, 0];
    const results = await store.addSpans(
      given.map((sequence_id, i) => {
        const span = sampleSpan(attempt, i + 1);
        return sequence_id === undefined ? span : { ...span, sequence_id };
      }),
    );
    expect(sequences(results)).toEqual([1, 2, 3, 4, 10, 11, 4, 12]);
    expect(await store.nextSequenceId(id, attempt.attempt_id)).toBe(13);
  });

  test("sequence ids rise within a rollout, over its attempts, and are issued once", async ({ store }) => {
    const first = await store.startRollout({ input: 1 });
    const { rollout_id: id } = first;
    const issued = await Promise.all(
      Array.from({ length: 5 }, () => store.nextSequenceId(id, first.attempt.attempt_id)),
    );
    expect(issued.sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5]);
    const second = await store.startAttempt(id);
    expect(await store.nextSequenceId(id, second.attempt.attempt_id)).toBe(6);
    expect(sequences(await store.addSpans([sampleSpan(second.attempt, 1)]))).toEqual([7]);
    const other = await store.startRollout({ input: 2 });
    expect(await store.nextSequenceId(other.rollout_id, other.attempt.attempt_id)).toBe(1);
  });

  test("a sequence id for an unknown rollout or attempt is refused", async ({ store }) => {
    await rejects(store.nextSequenceId("ro-unknown", "at-unknown"), "not_found", "ro-unknown");
    const { rollout_id: id } = await store.startRollout({ input: 1 });
    await rejects(store.nextSequenceId(id, "at-unknown"), "not_found", "at-unknown");
  });

  test("spans are read by sequence id, whatever the order of arrival", async ({ store }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1 });
    for (const sequence_id of [5, 2, 9, 1]) {
      await store.addSpans([{ ...sampleSpan(attempt, sequence_id), sequence_id }]);
    }
    const read = async (query: object) =>
      (await store.querySpans({ rollout_id: id, ...query })).items.map((span) => span.sequence_id);
    expect(await read({})).toEqual([1, 2, 5, 9]);
    expect(await read({ sort_order: "desc" })).toEqual([9, 5, 2, 1]);
    expect(await read({ limit: 2, offset: 1 })).toEqual([2, 5]);
  });

  test("spans are read by attempt, by its id or as the latest", async ({ store }) => {
    await enqueue(store, { config: { max_attempts: 2, retry_condition: ["failed"] } });
    const first = await claim(store);
    const { rollout_id: id } = first;
    await store.addSpans([sampleSpan(first.attempt, 1)]);
    await store.updateAttempt(id, "latest", { status: "failed" });
    const second = await claim(store);
    await store.addSpans([sampleSpan(second.attempt, 2), sampleSpan(second.attempt, 3)]);
    const count = async (attempt_id: string | null) =>
      (await store.querySpans({ rollout_id: id, attempt_id })).total;
    expect(await count(null)).toBe(3);
    expect(await count("latest")).toBe(2);
    expect(await count(first.attempt.attempt_id)).toBe(1);
    expect(await count("at-unknown")).toBe(0);
    const empty = await enqueue(store);
    const none = await store.querySpans({ rollout_id: empty.rollout_id, attempt_id: "latest" });
    expect(none).toEqual({ items: [], limit: -1, offset: 0, total: 0 });
  });

  test("spans are found by ids and names, and the attempt always holds", async ({ store }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1 });
    const other = await store.startRollout({ input: 2 });
    const parent = "0".repeat(15);
    await store.addSpans([
      sampleSpan(attempt, 1, { name: "openai.chat.completion" }),
      sampleSpan(attempt, 2, { name: "tool%call", parent_id: `${parent}1` }),
      sampleSpan(attempt, 3, { name: "Tool_call", parent_id: `${parent}2`, trace_id: "cd".repeat(16) }),
      sampleSpan(other.attempt, 4, { name: "openai.chat.completion" }),
    ]);
    const found = async (query: object) =>
      (await store.querySpans({ rollout_id: id, ...query })).items.map((span) => span.sequence_id);
    expect(await found({ name: "openai.chat.completion" })).toEqual([1]);
    expect(await found({ name_contains: "ool" })).toEqual([2, 3]);
    expect(await found({ name_contains: "tool" })).toEqual([2]);
    expect(await found({ name_contains: "%" })).toEqual([2]);
    expect(await found({ name_contains: "_" })).toEqual([3]);
    expect(await found({ name_contains: "" })).toEqual([1, 2, 3]);
    expect(await found({ parent_id: `${parent}1` })).toEqual([2]);
    expect(await found({ parent_id_contains: "0" })).toEqual([2, 3]);
    expect(await found({ trace_id: "cd".repeat(16) })).toEqual([3]);
    expect(await found({ trace_id_contains: "abab" })).toEqual([1, 2]);
    expect(await found({ span_id: `${parent}3` })).toEqual([3]);
    expect(await found({ span_id_contains: "01" })).toEqual([1]);
    expect(await found({ name_contains: "ool", parent_id: `${parent}1` })).toEqual([2]);
    const either = { name: "openai.chat.completion", parent_id: `${parent}2`, filter_logic: "or" };
    expect(await found(either)).toEqual([1, 3]);
    expect(await found({ ...either, attempt_id: "at-unknown" })).toEqual([]);
    expect(await found({ filter_logic: "or" })).toEqual([1, 2, 3]);
  });
}
