import { afterEach, beforeEach, expect, it } from "vitest";
import { createOverflow, type Queued } from "../../src/export/overflow.ts";
import { createQueue, type QueueItem } from "../../src/export/queue.ts";
import { openSpool } from "../../src/export/spool.ts";
import { finished } from "./finished.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

let directory: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => directory[Symbol.dispose]());

const LIMITS = { maxItems: 100, maxBytes: 10_000 };
const NOW = Date.UTC(2026, 0, 1);

function item(name: string, rolloutId: string, bytes: number, text = ""): QueueItem<Queued> {
  return { rolloutId, attemptId: "at", bytes, value: finished(name, rolloutId, { text }) };
}

it("takes a span in while what was read back fills more than the memory", () => {
  const queue = createQueue<Queued>({ maxBytes: 1_000, maxItems: 100 });
  const spool = openSpool({
    directory: directory.path,
    destination: "http://store",
    maxBytes: 1_000_000,
    segmentBytes: 400,
    now: () => NOW,
    onFault: (message) => expect.unreachable(message),
  });
  const overflow = createOverflow({ queue, spool, loadBytes: 400, onLost: () => expect.unreachable() });
  // On disk it takes far more than was guessed.
  expect(queue.add(item("large", "ro-large", 100, "x".repeat(3_000)))).toBeDefined();
  expect(overflow.spillSome()).toBe(true);
  const order = ["b0", "b1", "b2", "b3", "b4", "b5"];
  for (const name of order) expect(queue.add(item(name, "ro-b", 150))).toBeDefined();
  expect(overflow.loadMore()).toBe(true);
  expect(queue.bytes).toBeGreaterThan(3_900);

  const last = item("b6", "ro-b", 150);
  expect(queue.add(last)).toBeUndefined();
  expect(overflow.add(last)).toBe(true);

  // Nothing has overtaken anything: the attempt's spans come back in the order in which they were added.
  const back: string[] = [];
  for (;;) {
    queue.makeDue();
    const batch = queue.take(NOW, LIMITS);
    if (batch === undefined && overflow.loadMore()) continue;
    if (batch === undefined) break;
    for (const { value } of batch.items) {
      const name =
        "name" in value ? value.name : /b\d|large/.exec(Buffer.from(value.body).toString("latin1"))?.[0];
      back.push(String(name));
    }
    queue.settle(batch);
    for (const one of batch.items) overflow.settled(one);
  }
  expect(back).toEqual(["large", ...order, "b6"]);
  overflow.close();
  expect(directory.files()).toEqual([]);
});
