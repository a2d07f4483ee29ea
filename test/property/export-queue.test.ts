import fc from "fast-check";
import { expect, it } from "vitest";
import { type Batch, createQueue, type Queue, type QueueItem } from "../../src/export/queue.ts";
import { times } from "../times.ts";

interface Item {
  lane: string;
  id: number;
}

const BOUNDS = { maxBytes: 200, maxItems: 30 };
const LIMITS = { maxItems: 5, maxBytes: 60 };

/** A queue, the disk behind it, and what a correct one must have delivered. */
class World {
  readonly queue: Queue<Item> = createQueue<Item>(BOUNDS);
  readonly disk: QueueItem<Item>[] = [];
  readonly underWay: Batch<Item>[] = [];
  readonly added = new Map<string, number[]>();
  readonly settled = new Map<string, number[]>();
  loadedBytes = 0;
  readonly loaded = new Set<number>();
  #next = 0;

  add(lane: string, bytes: number): void {
    const [rolloutId, attemptId] = lane.split("/") as [string, string];
    const id = this.#next++;
    const item = { rolloutId, attemptId, bytes, value: { lane, id } };
    if (this.queue.add(item) !== undefined) push(this.added, lane, id);
    else expect(this.queue.bytes + bytes > BOUNDS.maxBytes || this.inMemory() >= BOUNDS.maxItems).toBe(true);
  }

  inMemory(): number {
    let items = 0;
    for (const lane of this.queue.lanes.values()) {
      items += lane.front.length + lane.back.length + (lane.underWay?.items.length ?? 0);
    }
    return items;
  }

  take(now: number): void {
    const batch = this.queue.take(now, LIMITS);
    if (batch === undefined) return;
    // One request carries one attempt's spans, and an attempt has one request under way.
    const lanes = new Set(batch.items.map(({ value }) => value.lane));
    expect(lanes.size).toBe(1);
    for (const other of this.underWay) expect(other.lane).not.toBe(batch.lane);
    expect(batch.items.length).toBeLessThanOrEqual(LIMITS.maxItems);
    const bytes = batch.items.reduce((sum, item) => sum + item.bytes, 0);
    if (batch.items.length > 1) expect(bytes).toBeLessThanOrEqual(LIMITS.maxBytes);
    this.underWay.push(batch);
  }

  end(index: number, how: "settle" | "putBack" | "split"): void {
    const [batch] = this.underWay.splice(index % Math.max(1, this.underWay.length), 1);
    if (batch === undefined) return;
    if (how === "putBack") this.queue.putBack(batch);
    else if (how === "split" && batch.items.length > 1) this.queue.split(batch);
    else {
      this.queue.settle(batch);
      for (const { value, bytes } of batch.items) {
        push(this.settled, value.lane, value.id);
        if (this.loaded.delete(value.id)) this.loadedBytes -= bytes;
      }
    }
  }

  spill(index: number, maxBytes: number, works: boolean): void {
    const lanes = [...this.queue.lanes.values()];
    const lane = lanes[index % Math.max(1, lanes.length)];
    if (lane === undefined) return;
    this.queue.spill(lane, maxBytes, (items) => {
      // What is on disk already is not written there again.
      for (const { value } of items) expect(this.loaded.has(value.id)).toBe(false);
      if (works) this.disk.push(...items);
      return works;
    });
  }

  load(count: number): void {
    for (const item of this.disk.splice(0, count)) {
      this.queue.load(item);
      this.loaded.add(item.value.id);
      this.loadedBytes += item.bytes;
    }
  }

  check(): void {
    let bytes = 0;
    for (const lane of this.queue.lanes.values()) {
      const items = [...lane.front, ...lane.back, ...(lane.underWay?.items ?? [])];
      bytes += items.reduce((sum, item) => sum + item.bytes, 0);
      expect(lane.backBytes).toBe(lane.back.reduce((sum, item) => sum + item.bytes, 0));
      expect(lane.added - lane.settled).toBe(items.length + lane.onDisk);
      expect(lane.due).toBeLessThanOrEqual(lane.back.length);
    }
    expect(this.queue.bytes).toBe(bytes);
    expect(this.queue.bytes - this.loadedBytes).toBeLessThanOrEqual(BOUNDS.maxBytes);
    for (const [lane, ids] of this.settled) expect(this.added.get(lane)?.slice(0, ids.length)).toEqual(ids);
  }

  /** The destination takes everything from now on. */
  drain(): void {
    for (let guard = 0; this.queue.lanes.size > 0; guard++) {
      if (guard > 10_000) throw new Error("the queue does not get empty");
      this.queue.makeDue();
      this.take(Number.POSITIVE_INFINITY);
      if (this.underWay.length === 0) this.load(1);
      else this.end(0, "settle");
    }
  }
}

function push(into: Map<string, number[]>, lane: string, id: number): void {
  const ids = into.get(lane);
  if (ids === undefined) into.set(lane, [id]);
  else ids.push(id);
}

const lane = fc.constantFrom("r1/a1", "r1/a2", "r2/a1", "r3/a1");
const step: fc.Arbitrary<(world: World) => void> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(lane, fc.integer({ min: 1, max: 80 })).map(
      ([l, b]) =>
        (w: World) =>
          w.add(l, b),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .option(fc.constantFrom("r1", "r2"), { nil: undefined })
      .map((r) => (w: World) => w.queue.makeDue(r)),
  },
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 3 }).map((t) => (w: World) => w.take(t)) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.nat(9), fc.constantFrom("settle" as const, "putBack" as const, "split" as const))
      .map(
        ([i, how]) =>
          (w: World) =>
            w.end(i, how),
      ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 100 }), fc.boolean()).map(
      ([i, b, works]) =>
        (w: World) =>
          w.spill(i, b, works),
    ),
  },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 4 }).map((n) => (w: World) => w.load(n)) },
  {
    weight: 1,
    arbitrary: fc.tuple(lane, fc.integer({ min: 0, max: 4 })).map(([l, t]) => (w: World) => {
      for (const one of w.queue.lanes.values()) if (`${one.rolloutId}/a1` === l) one.notBefore = t;
    }),
  },
);

it("loses nothing, mixes nothing and keeps order and bounds, whatever happens", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const world = new World();
      for (const run of steps) {
        run(world);
        world.check();
      }
      world.drain();
      expect(world.settled).toEqual(world.added);
      expect(world.queue.bytes).toBe(0);
    }),
    times(500),
  );
});
