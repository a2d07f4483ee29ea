import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { AglError } from "../../src/errors.ts";
import type { StoreSinkOptions } from "../../src/export/store-options.ts";
import { createStoreSink } from "../../src/export/store-sink.ts";
import { createFakeTime, type FakeTime } from "./fake-time.ts";
import { finished, many, names } from "./finished.ts";
import { type FlakyStore, serveFlakyStore } from "./flaky-store.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

let store: FlakyStore;
let time: FakeTime;
let directory: ReturnType<typeof temporaryDirectory>;
let errors: AglError[];
beforeEach(async () => {
  store = await serveFlakyStore();
  time = createFakeTime();
  directory = temporaryDirectory();
  errors = [];
});
afterEach(async () => {
  await store.close();
  directory[Symbol.dispose]();
});

function open(options: Partial<StoreSinkOptions> = {}) {
  return createStoreSink({
    url: store.url,
    compression: "none",
    spoolDirectory: directory.path,
    onError: (error) => errors.push(error),
    random: () => 0.5,
    ...time,
    ...options,
  });
}

/** Lets time pass until the sink has nothing left. */
async function drain(sink: ReturnType<typeof open>): Promise<void> {
  for (let i = 0; i < 100 && sink.pending > 0; i++) await time.pass(30_000);
}

it("puts what waits on disk while the store is away, and delivers it in order when it is back", async () => {
  store.answer = () => ({ status: 503 });
  const sink = open();
  for (const span of many(50, "a")) sink.add(span);
  await time.pass(5_000);
  for (const span of many(50, "b")) sink.add(span);
  await time.pass(5_000);
  expect(directory.files().length).toBeGreaterThan(0);
  store.answer = () => undefined;
  for (const span of many(50, "c")) sink.add(span);
  await drain(sink);
  expect(store.accepted).toEqual([...names(50, "a"), ...names(50, "b"), ...names(50, "c")]);
  expect(await sink.flush()).toEqual({ sent: 150, failed: 0, pending: 0 });
  expect(directory.files()).toEqual([]);
});

it("spills what does not fit into memory, in order, without a loss", async () => {
  const sink = open({ queueBytes: 200_000, maxBatchBytes: 50_000 });
  const all = many(200, "s", "ro-1", { text: "x".repeat(2_000) });
  for (const span of all) sink.add(span);
  expect(directory.files().length).toBeGreaterThan(0);
  expect(sink.pending).toBe(200);
  await drain(sink);
  expect(store.accepted).toEqual(names(200));
  expect(directory.files()).toEqual([]);
});

it("drops instead where it was told to, or where the disk is full too", async () => {
  const told = open({ queueSpans: 10, onFull: "drop" });
  for (const span of many(15)) told.add(span);
  expect(await told.flush()).toEqual({ sent: 10, failed: 5, pending: 0 });
  const small = open({ queueSpans: 10, spoolBytes: 100 });
  for (const span of many(15)) small.add(span);
  expect(await small.flush()).toEqual({ sent: 10, failed: 5, pending: 0 });
});

it("keeps at shutdown what could not be sent, for the next process", async () => {
  store.answer = () => ({ status: 503, headers: { "retry-after": "60" } });
  const first = open();
  for (const span of many(30)) first.add(span);
  for (const span of many(30, "t", "ro-2")) first.add(span);
  const down = first.shutdown({ timeoutMs: 3_000 });
  await time.pass(3_000);
  expect(await down).toEqual({ sent: 0, failed: 0, pending: 60 });
  store.answer = () => undefined;
  const second = open();
  expect(second.pending).toBe(60);
  second.add(finished("new"));
  expect(await second.flush()).toEqual({ sent: 61, failed: 0, pending: 0 });
  // The attempt's older spans come first.
  expect(store.acceptedBy("ro-1/at-ro-1")).toEqual([...names(30), "new"]);
  expect(store.acceptedBy("ro-2/at-ro-2")).toEqual(names(30, "t"));
  await second.shutdown();
  expect(readdirSync(directory.path)).toEqual([]);
});

it("saves at the very end what is under way, what was read back and what waits, in order", async () => {
  store.answer = () => ({ status: 503 });
  const first = open({ maxBatchSpans: 10 });
  for (const span of many(25, "a")) first.add(span);
  await time.pass(2_000);
  for (const span of many(25, "b")) first.add(span);
  await time.pass(1_000);
  store.answer = () => "hang";
  time.hanging = true;
  const before = store.requests.length;
  void first.flush({ timeoutMs: 60_000 });
  await time.pass(1_000);
  await store.came(before + 1);
  for (const span of many(5, "c")) first.add(span);
  expect(first.rescue()).toBe(0);
  first.add(finished("too late"));
  time.hanging = false;
  // The process lives on in this test, so its directory is handed over by hand.
  for (const name of readdirSync(directory.path)) release(name);
  store.answer = () => undefined;
  const second = open();
  await drain(second);
  expect(store.accepted).toEqual([...names(25, "a"), ...names(25, "b"), ...names(5, "c")]);
});

function release(name: string): void {
  const parts = name.split("~");
  parts.splice(2, 3, "", "0", "");
  renameInSpool(name, parts.join("~"));
}

function renameInSpool(from: string, to: string): void {
  const fs = process.getBuiltinModule("node:fs");
  fs.renameSync(join(directory.path, from), join(directory.path, to));
}

it("finds a poison span on disk too", async () => {
  store.answer = () => ({ status: 503 });
  const sink = open();
  for (const span of many(40)) sink.add(span);
  await time.pass(5_000);
  expect(directory.files().length).toBeGreaterThan(0);
  store.answer = (request) => (request.names.includes("s13") ? { status: 400 } : undefined);
  await drain(sink);
  expect(await sink.flush()).toEqual({ sent: 39, failed: 1, pending: 0 });
  expect(store.accepted).toEqual(names(40).filter((name) => name !== "s13"));
});

it("counts what the disk has damaged, and goes on", async () => {
  store.answer = () => ({ status: 503, headers: { "retry-after": "60" } });
  const first = open();
  for (const span of many(3)) first.add(span);
  const down = first.shutdown({ timeoutMs: 2_000 });
  await time.pass(2_000);
  await down;
  const own = join(directory.path, readdirSync(directory.path)[0] as string);
  const file = join(own, readdirSync(own)[0] as string);
  const bytes = readFileSync(file);
  const at = bytes.indexOf("s1");
  bytes[at] = 0;
  writeFileSync(file, bytes);
  store.answer = () => undefined;
  const second = open();
  expect(await second.flush()).toEqual({ sent: 2, failed: 1, pending: 0 });
  expect(store.accepted).toEqual(["s0", "s2"]);
  expect(errors.some(({ message }) => message.includes("cannot be read"))).toBe(true);
});

it("sends nothing of one store to another", async () => {
  await using other = await serveFlakyStore();
  store.answer = () => ({ status: 503, headers: { "retry-after": "60" } });
  const first = open();
  for (const span of many(3)) first.add(span);
  const down = first.shutdown({ timeoutMs: 2_000 });
  await time.pass(2_000);
  await down;
  const second = open({ url: other.url });
  expect(second.pending).toBe(0);
  expect(await second.flush()).toEqual({ sent: 0, failed: 0, pending: 0 });
  expect(other.requests).toEqual([]);
});

it("takes over while it runs what another process leaves behind", async () => {
  const sink = open();
  await time.pass(1_000);
  store.answer = () => ({ status: 503, headers: { "retry-after": "60" } });
  const other = open();
  for (const span of many(3)) other.add(span);
  const down = other.shutdown({ timeoutMs: 2_000 });
  await time.pass(2_000);
  await down;
  store.answer = () => undefined;
  await time.pass(60_000);
  expect(store.accepted).toEqual(names(3));
  expect(await sink.flush()).toEqual({ sent: 3, failed: 0, pending: 0 });
});
