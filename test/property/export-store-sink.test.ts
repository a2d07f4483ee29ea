import { rmSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createStoreSink } from "../../src/export/store-sink.ts";
import { Agl } from "../../src/protocol/semconv.ts";
import { createFakeTime } from "../export/fake-time.ts";
import { finished } from "../export/finished.ts";
import { decodeRequest } from "../export/flaky-store.ts";
import { temporaryDirectory } from "../export/temporary-directory.ts";
import { times } from "../times.ts";

const FAULTS = ["none", "none", "none", 503, 429, 500, 401, "network", "lost answer", "hang"] as const;
type Fault = (typeof FAULTS)[number];

const LIMITS = { queueBytes: 40_000, maxBatchBytes: 8_000, maxBatchSpans: 7, requestTimeoutMs: 5_000 };
const ATTEMPTS = ["r1/a1", "r1/a2", "r2/a1"];

/** Agents one after the other on one spool, and a store in the same process that fails as it is told. */
class World {
  readonly time = createFakeTime();
  readonly directory = temporaryDirectory();
  readonly added = new Map<string, string[]>();
  readonly arrived = new Map<string, string[]>();
  readonly faults: Fault[] = [];
  poison: string | undefined;
  failed = 0;
  dropped = 0;
  sent = 0;
  readonly #spool: boolean;
  #count = 0;
  sink: ReturnType<typeof createStoreSink>;

  constructor(spool: boolean) {
    this.#spool = spool;
    this.sink = this.#open();
  }

  #open() {
    return createStoreSink({
      ...LIMITS,
      url: "http://store",
      compression: "none",
      random: () => 0.5,
      now: this.time.now,
      setTimer: this.time.setTimer,
      fetch: (_, init) => this.#answer(init?.body as Uint8Array, init?.signal as AbortSignal),
      ...(this.#spool && { spoolDirectory: this.directory.path }),
    });
  }

  async #answer(body: Uint8Array, signal: AbortSignal): Promise<Response> {
    const spans = decodeRequest(body);
    const attempts = new Set(spans.map(({ attributes: a }) => `${a[Agl.RolloutId]}/${a[Agl.AttemptId]}`));
    expect(attempts.size).toBe(1);
    expect(spans.length).toBeLessThanOrEqual(LIMITS.maxBatchSpans);
    const fault = this.faults.shift() ?? "none";
    if (fault === "network") throw new TypeError("fetch failed");
    if (fault === "hang") {
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    }
    if (typeof fault === "number") return new Response("no", { status: fault });
    if (spans.some(({ name }) => name === this.poison)) return new Response("bad", { status: 400 });
    const [attempt] = attempts as unknown as [string];
    const seen = this.arrived.get(attempt) ?? [];
    // The store knows a span by its id: a second arrival changes nothing.
    for (const { name } of spans) if (!seen.includes(name)) seen.push(name);
    this.arrived.set(attempt, seen);
    if (fault === "lost answer") throw new TypeError("terminated");
    return new Response(new Uint8Array());
  }

  add(attempt: string, size: number): void {
    const [rollout, id] = attempt.split("/") as [string, string];
    const name = `s${this.#count++}`;
    const before = this.sink.pending;
    this.sink.add(finished(name, rollout, { [Agl.AttemptId]: id, text: "x".repeat(size) }));
    // Not taken: dropped, counted, and not to be delivered.
    if (this.sink.pending === before) {
      this.dropped += 1;
      return;
    }
    this.added.set(attempt, [...(this.added.get(attempt) ?? []), name]);
  }

  async flush(timeoutMs: number, rolloutId?: string): Promise<void> {
    const flushed = this.sink.flush({ timeoutMs, ...(rolloutId !== undefined && { rolloutId }) });
    await this.time.pass(timeoutMs);
    const { sent, failed } = await flushed;
    this.sent += sent;
    this.failed += failed;
  }

  /** The end of one process and the start of the next. */
  async restart(): Promise<void> {
    const down = this.sink.shutdown({ timeoutMs: 100 });
    await this.time.pass(100);
    const { sent, failed } = await down;
    this.sent += sent;
    this.failed += failed;
    this.sink = this.#open();
  }

  async drain(): Promise<void> {
    for (let i = 0; this.sink.pending > 0 && i < 200; i++) await this.flush(30_000);
    expect(this.sink.pending).toBe(0);
    await this.flush(0);
  }

  [Symbol.dispose](): void {
    rmSync(this.directory.path, { recursive: true, force: true });
  }
}

type Step = (world: World) => void | Promise<void>;
const add: fc.Arbitrary<Step> = fc
  .tuple(fc.constantFrom(...ATTEMPTS), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 0, max: 2_000 }))
  .map(([attempt, n, size]) => (world) => {
    for (let i = 0; i < n; i++) world.add(attempt, size);
  });
const pass: fc.Arbitrary<Step> = fc
  .constantFrom(1, 300, 2_000, 40_000)
  .map((ms) => (world) => world.time.pass(ms));
const fault: fc.Arbitrary<Step> = fc
  .array(fc.constantFrom(...FAULTS), { maxLength: 6 })
  .map((faults) => (world) => {
    world.faults.push(...faults);
  });
const flush: fc.Arbitrary<Step> = fc
  .option(fc.constantFrom("r1", "r2"), { nil: undefined })
  .map((rollout) => (world) => world.flush(500, rollout));
const restart: fc.Arbitrary<Step> = fc.constant((world: World) => world.restart());

const delivered = (world: World, without?: string) =>
  expect(Object.fromEntries(world.arrived)).toEqual(
    Object.fromEntries(
      [...world.added]
        .map(([attempt, all]) => [attempt, all.filter((name) => name !== without)] as const)
        .filter(([, all]) => all.length > 0),
    ),
  );

it("delivers all that it took, in order within an attempt, whatever the store does", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(add, add, pass, fault, flush), { maxLength: 25 }), async (steps) => {
      using world = new World(false);
      for (const step of steps) await step(world);
      await world.drain();
      delivered(world);
    }),
    times(40),
  );
});

it("delivers it over any number of processes with one spool, and leaves no file behind", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(add, add, pass, fault, flush, restart), { maxLength: 25 }),
      async (steps) => {
        using world = new World(true);
        for (const step of steps) await step(world);
        await world.drain();
        delivered(world);
        expect(world.directory.files()).toEqual([]);
      },
    ),
    times(40),
  );
});

it("gives up exactly the span that the store refuses", async () => {
  await fc.assert(
    fc.asyncProperty(
      // Without a restart, after which a span may be sent, and counted, again.
      fc.array(fc.oneof(add, add, pass, fault, flush), { minLength: 1, maxLength: 20 }),
      fc.nat(40),
      async (steps, which) => {
        using world = new World(true);
        world.poison = `s${which}`;
        for (const step of steps) await step(world);
        await world.drain();
        delivered(world, world.poison);
        const taken = [...world.added.values()].flat();
        const refused = taken.includes(world.poison) ? 1 : 0;
        // The disk takes what memory cannot.
        expect(world.dropped).toBe(0);
        expect([world.failed, world.sent]).toEqual([refused, taken.length - refused]);
      },
    ),
    times(40),
  );
});
