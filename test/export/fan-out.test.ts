import { expect, it } from "vitest";
import type { EndableSink } from "../../src/export/exit.ts";
import { createExporterSink } from "../../src/export/exporter-sink.ts";
import { createFanOut } from "../../src/export/fan-out.ts";
import { createStoreSink } from "../../src/export/store-sink.ts";
import { many, names } from "./finished.ts";
import { serveFlakyStore } from "./flaky-store.ts";

it("brings everything to the store, whatever a second exporter does", async () => {
  await using store = await serveFlakyStore();
  const calls = { throwing: 0, hanging: 0 };
  const sink = createFanOut([
    createStoreSink({ url: store.url }),
    createExporterSink({
      export: () => {
        calls.throwing += 1;
        throw new Error("theirs");
      },
      shutdown: () => Promise.reject(new Error("theirs")),
    }),
    createExporterSink({
      export: () => {
        calls.hanging += 1;
      },
      shutdown: () => new Promise(() => undefined),
    }),
  ]);
  for (const span of many(50)) sink.add(span);
  // Of one rollout: not held up by the exporter that hangs.
  expect(await sink.flush({ rolloutId: "ro-1" })).toEqual({ sent: 50, failed: 0, pending: 0 });
  expect(store.accepted).toEqual(names(50));
  expect(await sink.flush({ timeoutMs: 50 })).toEqual({ sent: 0, failed: 0, pending: 0 });
  expect(calls).toEqual({ throwing: 1, hanging: 1 });
  expect(sink.pending).toBe(50);
  expect(await sink.shutdown({ timeoutMs: 50 })).toEqual({ sent: 0, failed: 0, pending: 0 });
});

it("keeps sinks apart that break their contract", async () => {
  const got: string[] = [];
  const broken: EndableSink = {
    pending: 0,
    add: () => {
      throw new Error("add");
    },
    flush: () => Promise.reject(new Error("flush")),
    shutdown: () => {
      throw new Error("shutdown");
    },
    interrupt: () => undefined,
    rescue: () => 0,
  };
  const good: EndableSink = {
    pending: 2,
    add: (span) => got.push(span.name),
    flush: async () => ({ sent: 1, failed: 0, pending: 0 }),
    shutdown: async () => ({ sent: 2, failed: 0, pending: 0 }),
    interrupt: () => undefined,
    rescue: () => 1,
  };
  const sink = createFanOut([good, broken]);
  for (const span of many(2)) sink.add(span);
  expect(got).toEqual(names(2));
  expect(await sink.flush()).toEqual({ sent: 1, failed: 0, pending: 0 });
  expect(await sink.shutdown()).toEqual({ sent: 2, failed: 0, pending: 0 });
  expect([sink.pending, sink.rescue()]).toEqual([2, 1]);
  expect(await createFanOut([broken, good]).flush()).toEqual({ sent: 0, failed: 0, pending: 0 });
});

it("of nothing does nothing", async () => {
  const sink = createFanOut([]);
  for (const span of many(1)) sink.add(span);
  expect(await sink.flush()).toEqual({ sent: 0, failed: 0, pending: 0 });
  expect(await sink.shutdown()).toEqual({ sent: 0, failed: 0, pending: 0 });
  expect([sink.pending, sink.rescue()]).toEqual([0, 0]);
});
