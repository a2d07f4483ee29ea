/**
 * The contract of filters, sorting and paging.
 *
 * @module
 */
import type { RolloutQuery } from "../../store/interface.ts";
import { type ContractApi, claim, contractTests, enqueue, type OpenStore, sampleSpan } from "./harness.ts";

/** Tests of queries. */
export function queryContract(open: OpenStore, api: ContractApi): void {
  const { expect } = api;
  const { test, timed, rejects } = contractTests(open, api);

  test("without filters a query gives all, in the order of insertion", async ({ store }) => {
    expect(await store.queryRollouts()).toEqual({ items: [], limit: -1, offset: 0, total: 0 });
    const made = await store.enqueueRollouts([3, 1, 2].map((input) => ({ input })));
    expect(await store.queryRollouts()).toEqual({ items: made, limit: -1, offset: 0, total: 3 });
    const claimed = await claim(store);
    expect((await store.queryRollouts()).items).toEqual([claimed, ...made.slice(1)]);
  });

  test("filters combine by and, or by or", async ({ store }) => {
    const made = await store.enqueueRollouts([0, 1, 2, 3].map((input) => ({ input })));
    const ids = made.map(({ rollout_id }) => rollout_id) as [string, string, string, string];
    await claim(store);
    await store.updateRollout(ids[3], { status: "cancelled" });
    const found = async (query: RolloutQuery) =>
      (await store.queryRollouts(query)).items.map(({ input }) => input);
    expect(await found({ status_in: ["queuing"] })).toEqual([1, 2]);
    expect(await found({ status_in: ["preparing", "cancelled"] })).toEqual([0, 3]);
    expect(await found({ status_in: [] })).toEqual([]);
    expect(await found({ rollout_id_in: [ids[2], ids[0], "ro-unknown"] })).toEqual([0, 2]);
    expect(await found({ rollout_id_in: [] })).toEqual([]);
    expect(await found({ rollout_id_contains: "ro-" })).toEqual([0, 1, 2, 3]);
    expect(await found({ rollout_id_contains: ids[1].slice(3) })).toEqual([1]);
    const two = { status_in: ["queuing" as const], rollout_id_in: [ids[0], ids[1]] };
    expect(await found(two)).toEqual([1]);
    expect(await found({ ...two, filter_logic: "or" })).toEqual([0, 1, 2]);
    expect(await found({ ...two, rollout_id_contains: "zz" })).toEqual([]);
    expect(await found({ ...two, rollout_id_contains: "zz", filter_logic: "or" })).toEqual([0, 1, 2]);
    expect(await found({ filter_logic: "or" })).toEqual([0, 1, 2, 3]);
    expect(await found({ status_in: null, rollout_id_in: null, rollout_id_contains: null })).toEqual([
      0, 1, 2, 3,
    ]);
  });

  test("a page knows the matches in all", async ({ store }) => {
    await store.enqueueRollouts([0, 1, 2, 3, 4].map((input) => ({ input })));
    const page = async (query: RolloutQuery) => {
      const { items, ...rest } = await store.queryRollouts(query);
      return { ...rest, items: items.map(({ input }) => input) };
    };
    expect(await page({ limit: 2 })).toEqual({ items: [0, 1], limit: 2, offset: 0, total: 5 });
    expect(await page({ limit: 2, offset: 4 })).toEqual({ items: [4], limit: 2, offset: 4, total: 5 });
    expect(await page({ offset: 3 })).toEqual({ items: [3, 4], limit: -1, offset: 3, total: 5 });
    expect(await page({ offset: 9 })).toEqual({ items: [], limit: -1, offset: 9, total: 5 });
    expect(await page({ limit: 3, offset: 9 })).toEqual({ items: [], limit: 3, offset: 9, total: 5 });
    expect(await page({ limit: 1, status_in: ["failed"] })).toEqual({
      items: [],
      limit: 1,
      offset: 0,
      total: 0,
    });
  });

  timed(
    "a missing time is the latest, a missing text the first; equals keep their order",
    async (context) => {
      const { store, advance } = context;
      const modes = ["val", null, "train", null, "val"] as const;
      for (const [input, mode] of modes.entries()) {
        await enqueue(store, { input, mode });
        advance(1);
      }
      const { items } = await store.queryRollouts();
      for (const index of [3, 1]) {
        await store.updateRollout(items[index]?.rollout_id as string, { status: "failed" });
        advance(1);
      }
      const sorted = async (sort_by: string, sort_order: "asc" | "desc") =>
        (await store.queryRollouts({ sort_by, sort_order })).items.map(({ input }) => input);
      expect(await sorted("end_time", "asc")).toEqual([3, 1, 0, 2, 4]);
      expect(await sorted("end_time", "desc")).toEqual([0, 2, 4, 1, 3]);
      expect(await sorted("mode", "asc")).toEqual([1, 3, 2, 0, 4]);
      expect(await sorted("mode", "desc")).toEqual([0, 4, 2, 1, 3]);
      expect(await sorted("start_time", "desc")).toEqual([4, 3, 2, 1, 0]);
      expect(await sorted("status", "asc")).toEqual([1, 3, 0, 2, 4]);
    },
  );

  test("texts sort by code point", async ({ store }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1 });
    const names = ["b", "\u{1f600}", "\uffee", "a", "B", "ab", ""];
    await store.addSpans(names.map((name, i) => sampleSpan(attempt, i + 1, { name })));
    const { items } = await store.querySpans({ rollout_id: id, sort_by: "name" });
    expect(items.map(({ name }) => name)).toEqual(["", "B", "a", "ab", "b", "\uffee", "\u{1f600}"]);
  });

  test("attempts are sorted and paged", async ({ store }) => {
    const { rollout_id: id } = await store.startRollout({ input: 1, worker_id: "b" });
    await store.startAttempt(id);
    await store.startAttempt(id, { worker_id: "a" });
    const read = async (query: object) => {
      const { items, total } = await store.queryAttempts(id, query);
      return [items.map(({ sequence_id }) => sequence_id), total];
    };
    expect(await read({})).toEqual([[1, 2, 3], 3]);
    expect(await read({ sort_order: "desc", limit: 2 })).toEqual([[3, 2], 3]);
    expect(await read({ sort_by: "worker_id" })).toEqual([[2, 3, 1], 3]);
    expect(await read({ limit: 1, offset: 1 })).toEqual([[2], 3]);
  });

  test("an unknown or unsortable field, a bad order, limit or offset is refused", async ({ store }) => {
    const { rollout_id: id } = await enqueue(store);
    const refused = async (query: object, ...words: string[]): Promise<void> => {
      await rejects(store.queryRollouts(query), "invalid_argument", ...words);
      await rejects(store.queryAttempts(id, query), "invalid_argument", ...words);
      await rejects(store.querySpans({ rollout_id: id, ...query }), "invalid_argument", ...words);
      await rejects(store.queryWorkers(query), "invalid_argument", ...words);
      await rejects(store.queryResources(query), "invalid_argument", ...words);
    };
    await refused({ sort_by: "colour" }, "colour");
    await refused({ sort_by: "toString" }, "toString");
    await refused({ sort_order: "up" });
    await refused({ limit: 0 });
    await refused({ limit: -2 });
    await refused({ offset: -1 });
    const logic = { filter_logic: "xor" as "or" };
    await rejects(store.queryRollouts(logic), "invalid_argument", "filter_logic");
    await rejects(store.querySpans({ rollout_id: id, ...logic }), "invalid_argument", "filter_logic");
    await rejects(store.queryWorkers(logic), "invalid_argument", "filter_logic");
    await rejects(store.queryRollouts({ sort_by: "config" }), "invalid_argument", "config");
    await rejects(store.queryRollouts({ status_in: ["done" as "failed"] }), "invalid_argument");
  });

  test("a list of many thousand ids", async ({ store }) => {
    const made = await store.enqueueRollouts([1, 2].map((input) => ({ input })));
    const wanted = Array.from({ length: 40_000 }, (_, i) => `ro-${i.toString(16).padStart(12, "0")}`);
    wanted.push(made[1]?.rollout_id as string);
    const { items } = await store.queryRollouts({ rollout_id_in: wanted });
    expect(items.map(({ input }) => input)).toEqual([2]);
  });

  test("statistics count what there is", async ({ store }) => {
    const { rollout_id: id, attempt } = await store.startRollout({ input: 1, worker_id: "w" });
    await store.startAttempt(id);
    await enqueue(store);
    await store.addResources({});
    await store.addSpans([sampleSpan(attempt, 1), sampleSpan(attempt, 2), sampleSpan(attempt, 2)]);
    expect(await store.statistics()).toMatchObject({
      total_rollouts: 2,
      total_attempts: 2,
      total_spans: 2,
      total_resources: 1,
      total_workers: 1,
    });
  });
}
