import { context } from "@opentelemetry/api";
import { afterEach, describe, expect, it } from "vitest";
import { createExporterSink, type OtelSpanExporter } from "../../src/export/exporter-sink.ts";
import { setLate } from "../../src/trace/finished-span.ts";
import { isSuppressed, registerContext } from "./active-context.ts";
import { createFakeTime } from "./fake-time.ts";
import { finished, many, names } from "./finished.ts";

type Done = (result: { code: number; error?: Error }) => void;

/** An exporter that keeps what it got, and does with a batch what the test says. */
function exporter(act: (done: Done, batch: number) => void = (done) => done({ code: 0 })) {
  const batches: Array<Array<Record<string, unknown> & { name: string }>> = [];
  let shutdowns = 0;
  const self: OtelSpanExporter & { batches: typeof batches; readonly shutdowns: number; names(): string[] } =
    {
      batches,
      get shutdowns() {
        return shutdowns;
      },
      names: () => batches.flat().map(({ name }) => name),
      export(spans, done) {
        batches.push(spans);
        act(done, batches.length - 1);
      },
      shutdown: async () => {
        shutdowns += 1;
      },
    };
  return self;
}

describe("an exporter", () => {
  it("gets each span once, in order, in batches, after the interval", async () => {
    const time = createFakeTime();
    const target = exporter();
    const sink = createExporterSink(target, { ...time, maxBatchSpans: 4 });
    for (const span of many(3)) sink.add(span);
    expect(target.batches).toHaveLength(0);
    await time.pass(1_000);
    expect(target.names()).toEqual(names(3));
    for (const span of many(10, "t")) sink.add(span);
    await time.pass(0);
    expect(target.batches.map((batch) => batch.length)).toEqual([3, 4, 4, 2]);
    expect(target.names()).toEqual([...names(3), ...names(10, "t")]);
    expect(await sink.flush()).toEqual({ sent: 13, failed: 0, pending: 0 });
    expect(await sink.flush()).toEqual({ sent: 0, failed: 0, pending: 0 });
  });

  it("of any SDK line finds the span in its own shape, with late attributes", async () => {
    const target = exporter();
    const sink = createExporterSink(target);
    const parent = { traceId: `${"0".repeat(31)}1`, spanId: "00000000000000aa", traceFlags: 1 };
    const span = { ...finished("child"), parentSpanContext: parent };
    setLate(span, { bytes: 5, make: () => ({ late: 1 }) });
    sink.add(span);
    await sink.flush();
    expect(target.batches[0]?.[0]).toMatchObject({
      parentSpanContext: parent,
      parentSpanId: "00000000000000aa",
      instrumentationScope: { name: "test" },
      instrumentationLibrary: { name: "test" },
      attributes: { late: 1 },
      ended: true,
    });
    sink.add(finished("root"));
    await sink.flush();
    expect(target.batches[1]?.[0]).not.toHaveProperty("parentSpanId");
    expect(target.batches[1]?.[0]).not.toHaveProperty("parentSpanContext");
  });

  it.each<[string, (done: Done) => void]>([
    [
      "throws",
      () => {
        throw new Error("theirs");
      },
    ],
    [
      "throws nothing in particular",
      () => {
        throw undefined;
      },
    ],
    ["reports a failure", (done) => done({ code: 1, error: new Error("theirs") })],
    ["reports a failure without an error", (done) => done({ code: 1 })],
  ])("that %s is counted and reported once in a row, and gets the next batch", async (_, fail) => {
    const errors: Error[] = [];
    const target = exporter((done, batch) => (batch < 2 ? fail(done) : done({ code: 0 })));
    const sink = createExporterSink(target, { maxBatchSpans: 2, onError: (error) => errors.push(error) });
    for (const span of many(6)) sink.add(span);
    expect(await sink.flush()).toEqual({ sent: 2, failed: 4, pending: 0 });
    expect(errors).toHaveLength(1);
  });

  it("that calls back twice counts once", async () => {
    const target = exporter((done) => {
      done({ code: 0 });
      done({ code: 1 });
    });
    const sink = createExporterSink(target);
    sink.add(finished("a"));
    expect(await sink.flush()).toEqual({ sent: 1, failed: 0, pending: 0 });
  });

  it("that hangs is left behind at the time limit, and holds a flush no longer than its deadline", async () => {
    const time = createFakeTime();
    const target = exporter((done, batch) => (batch === 0 ? undefined : done({ code: 0 })));
    const sink = createExporterSink(target, { ...time, maxBatchSpans: 2, exportTimeoutMs: 10_000 });
    for (const span of many(4)) sink.add(span);
    const flushed = sink.flush({ timeoutMs: 3_000 });
    await time.pass(3_000);
    expect(await flushed).toEqual({ sent: 0, failed: 0, pending: 4 });
    await time.pass(7_000);
    expect(target.batches).toHaveLength(2);
    expect(await sink.flush()).toEqual({ sent: 2, failed: 2, pending: 0 });
  });

  it("that hangs for ever costs a bounded memory", async () => {
    const time = createFakeTime();
    const errors: Error[] = [];
    const sink = createExporterSink(
      exporter(() => undefined),
      {
        ...time,
        queueBytes: 100_000,
        maxBatchSpans: 1,
        onError: (error) => errors.push(error),
      },
    );
    for (let round = 0; round < 5; round++) {
      for (const span of many(100, "s", "ro-1", { text: "x".repeat(10_000) })) sink.add(span);
      await time.pass(1_000);
    }
    expect(sink.pending).toBe(4);
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining("dropped")]);
    expect(await sink.flush({ timeoutMs: 0 })).toEqual({ sent: 0, failed: 496, pending: 4 });
  });

  it("is shut down once, after the last batch, and not waited for longer than the deadline", async () => {
    const time = createFakeTime();
    const target = exporter();
    const sink = createExporterSink(target, time);
    for (const span of many(3)) sink.add(span);
    const done = sink.shutdown();
    expect(sink.shutdown()).toBe(done);
    expect(await done).toEqual({ sent: 3, failed: 0, pending: 0 });
    expect(target.shutdowns).toBe(1);
    sink.add(finished("late"));
    expect(target.names()).toEqual(names(3));

    const stuck = exporter();
    stuck.shutdown = () => new Promise(() => undefined);
    const ended = createExporterSink(stuck, time).shutdown({ timeoutMs: 2_000 });
    await time.pass(2_000);
    expect(await ended).toEqual({ sent: 0, failed: 0, pending: 0 });
  });

  it("with a rollout is waited for up to that rollout's last span", async () => {
    const dones: Done[] = [];
    const target = exporter((done) => dones.push(done));
    const sink = createExporterSink(target, { maxBatchSpans: 1 });
    sink.add(finished("a", "ro-a"));
    sink.add(finished("b", "ro-b"));
    const flushed = sink.flush({ rolloutId: "ro-a" });
    while (dones.length === 0) await new Promise((resolve) => setImmediate(resolve));
    dones[0]?.({ code: 0 });
    expect(await flushed).toEqual({ sent: 1, failed: 0, pending: 1 });
  });
});

describe("tracing of the export itself", () => {
  afterEach(() => context.disable());

  it("is suppressed, and the app's context is not there", async () => {
    const appKey = Symbol("app");
    registerContext(appKey);
    const seen: unknown[] = [];
    const sink = createExporterSink(
      exporter((done) => {
        seen.push([isSuppressed(), context.active().getValue(appKey)]);
        done({ code: 0 });
      }),
    );
    sink.add(finished("a"));
    await sink.flush();
    expect(seen).toEqual([[true, undefined]]);
  });
});
