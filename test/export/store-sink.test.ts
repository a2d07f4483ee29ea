import { context } from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AglError } from "../../src/errors.ts";
import { createStoreSink } from "../../src/export/store-sink.ts";
import { Agl } from "../../src/protocol/semconv.ts";
import { setLate } from "../../src/trace/finished-span.ts";
import { isSuppressed, registerContext } from "./active-context.ts";
import { createFakeTime } from "./fake-time.ts";
import { finished, many, names } from "./finished.ts";
import { type FlakyStore, serveFlakyStore } from "./flaky-store.ts";

let store: FlakyStore;
beforeEach(async () => {
  store = await serveFlakyStore();
});
afterEach(() => store.close());

describe("a request", () => {
  it("is OTLP protobuf with a length, a key and a name of our own", async () => {
    const sink = createStoreSink({ url: `${store.url}/`, key: "k-1" });
    sink.add(finished("a", "ro-1", { count: 3, ids: [1, 2], text: "ü" }));
    expect(await sink.flush()).toEqual({ sent: 1, failed: 0, pending: 0 });
    const [request] = store.requests;
    expect(request?.headers).toMatchObject({
      "content-type": "application/x-protobuf",
      "content-length": String(request?.bodyBytes),
      authorization: "Bearer k-1",
      "user-agent": "agentlightning-js",
    });
    expect(request?.headers["transfer-encoding"]).toBeUndefined();
    expect(request?.headers["content-encoding"]).toBeUndefined();
    expect(request?.spans[0]?.attributes).toEqual({
      [Agl.RolloutId]: "ro-1",
      [Agl.AttemptId]: "at-ro-1",
      count: 3,
      ids: [1, 2],
      text: "ü",
    });
  });

  it("is gzipped from 1 KiB on, where it leaves the machine or is told to", async () => {
    const big = { text: "x".repeat(2000) };
    const elsewhere = createStoreSink({
      url: "http://store.example",
      fetch: (_, init) => fetch(`${store.url}/v1/traces`, init),
    });
    const packed = createStoreSink({ url: store.url, compression: "gzip" });
    const here = createStoreSink({ url: store.url });
    for (const [sink, attributes] of [
      [elsewhere, big],
      [elsewhere, {}],
      [packed, big],
      [here, big],
    ] as const) {
      sink.add(finished("a", "ro-1", attributes));
      await sink.flush();
    }
    expect(store.requests.map(({ headers }) => headers["content-encoding"])).toEqual([
      "gzip",
      undefined,
      "gzip",
      undefined,
    ]);
    expect(store.requests[0]?.bodyBytes).toBeLessThan(600);
    expect(store.requests[0]?.spans).toHaveLength(1);
  });

  it("carries late attributes, which are shaped once and not in add", async () => {
    const sink = createStoreSink({ url: store.url });
    const span = finished("a");
    let made = 0;
    setLate(span, { bytes: 10, make: () => ({ late: ++made }) });
    sink.add(span);
    expect(made).toBe(0);
    store.answer = (_, index) => (index === 0 ? { status: 503 } : undefined);
    await sink.flush();
    expect(made).toBe(1);
    expect(store.requests.map(({ spans }) => spans[0]?.attributes["late"])).toEqual([1, 1]);
  });

  it("never mixes rollouts or attempts", async () => {
    const sink = createStoreSink({ url: store.url });
    for (let i = 0; i < 20; i++) {
      sink.add(finished(`a${i}`, "ro-a"));
      sink.add(finished(`b${i}`, "ro-b"));
      sink.add(finished(`c${i}`, "ro-a", { [Agl.AttemptId]: "second" }));
    }
    expect(await sink.flush()).toEqual({ sent: 60, failed: 0, pending: 0 });
    expect(store.requests.map(({ attempts }) => attempts)).toEqual([
      ["ro-a/at-ro-a"],
      ["ro-b/at-ro-b"],
      ["ro-a/second"],
    ]);
    expect(store.acceptedBy("ro-a/at-ro-a")).toEqual(names(20, "a"));
    expect(store.acceptedBy("ro-b/at-ro-b")).toEqual(names(20, "b"));
    expect(store.acceptedBy("ro-a/second")).toEqual(names(20, "c"));
  });

  it("is not made for spans without a rollout", async () => {
    const sink = createStoreSink({ url: store.url });
    sink.add(finished("a", "ro", { [Agl.RolloutId]: undefined }));
    sink.add(finished("b", "ro", { [Agl.AttemptId]: undefined }));
    expect(await sink.flush()).toEqual({ sent: 0, failed: 0, pending: 0 });
    expect(store.requests).toEqual([]);
  });
});

describe("tracing of the export itself", () => {
  afterEach(() => context.disable());

  it("is suppressed, and the app's context is not there", async () => {
    const appKey = Symbol("app");
    registerContext(appKey);
    const seen: unknown[] = [];
    const sink = createStoreSink({
      url: store.url,
      fetch: (input, init) => {
        seen.push([isSuppressed(), context.active().getValue(appKey)]);
        return globalThis.fetch(input, init);
      },
    });
    sink.add(finished("a"));
    await sink.flush();
    expect(seen).toEqual([[true, undefined]]);
  });
});

describe("batches", () => {
  it("bring a burst of 10,000 spans, each once and in order, within the limits", async () => {
    const sink = createStoreSink({ url: store.url });
    for (const span of many(10_000)) sink.add(span);
    expect(await sink.flush()).toEqual({ sent: 10_000, failed: 0, pending: 0 });
    expect(store.accepted).toEqual(names(10_000));
    expect(Math.max(...store.requests.map(({ spans }) => spans.length))).toBe(512);
    expect(store.mostAtOnce.attempt).toBe(1);
  });

  it("have at most four requests under way", async () => {
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    store.answer = () => gate;
    const sink = createStoreSink({ url: store.url });
    for (let i = 0; i < 20; i++) sink.add(finished(`s${i}`, `ro-${i}`));
    const flushed = sink.flush();
    await store.came(4);
    // A fifth would have had the time to come.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(store.requests).toHaveLength(4);
    release();
    expect(await flushed).toEqual({ sent: 20, failed: 0, pending: 0 });
    expect(store.mostAtOnce.all).toBe(4);
  });

  it("hold at most maxBatchBytes, and a larger span goes alone", async () => {
    const sink = createStoreSink({ url: store.url, maxBatchBytes: 10_000, compression: "none" });
    sink.add(finished("big", "ro-1", { text: "x".repeat(40_000) }));
    for (const span of many(9, "s", "ro-1", { text: "x".repeat(2_000) })) sink.add(span);
    expect(await sink.flush()).toEqual({ sent: 10, failed: 0, pending: 0 });
    expect(store.accepted).toEqual(["big", ...names(9)]);
    expect(store.requests[0]?.names).toEqual(["big"]);
    for (const { bodyBytes } of store.requests.slice(1)) expect(bodyBytes).toBeLessThanOrEqual(10_000);
  });

  it("are cut by their real size when the estimate was far off", async () => {
    const sink = createStoreSink({ url: store.url, maxBatchBytes: 10_000, compression: "none" });
    for (const span of many(8)) {
      setLate(span, { bytes: 1, make: () => ({ text: "x".repeat(4_000) }) });
      sink.add(span);
    }
    expect(await sink.flush()).toEqual({ sent: 8, failed: 0, pending: 0 });
    expect(store.accepted).toEqual(names(8));
    for (const { bodyBytes } of store.requests) expect(bodyBytes).toBeLessThanOrEqual(10_000);
  });

  it("leave by themselves after the interval, or at once when full", async () => {
    const time = createFakeTime();
    const sink = createStoreSink({ url: store.url, ...time, maxBatchSpans: 5 });
    sink.add(finished("a"));
    await time.pass(999);
    expect(store.accepted).toEqual([]);
    await time.pass(1);
    expect(store.accepted).toEqual(["a"]);
    for (const span of many(5)) sink.add(span);
    await time.pass(0);
    expect(store.accepted).toEqual(["a", ...names(5)]);
    expect(time.waiting()).toEqual([1_000]);
    await time.pass(60_000);
    expect(time.waiting()).toEqual([]);
  });
});

describe("flush", () => {
  it("waits for a request that is under way", async () => {
    let release: () => void = () => undefined;
    store.answer = () => new Promise<void>((resolve) => (release = resolve));
    const sink = createStoreSink({ url: store.url, flushIntervalMs: 1 });
    sink.add(finished("a"));
    await store.came(1);
    let done = false;
    const flushed = sink.flush().then((report) => {
      done = true;
      return report;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(done).toBe(false);
    release();
    expect(await flushed).toEqual({ sent: 1, failed: 0, pending: 0 });
  });

  it("ends at its deadline and says what is left, which arrives later", async () => {
    const time = createFakeTime();
    store.answer = () => "hang";
    const sink = createStoreSink({ url: store.url, ...time, requestTimeoutMs: 10_000, random: () => 0 });
    for (const span of many(3)) sink.add(span);
    time.hanging = true;
    const flushed = sink.flush({ timeoutMs: 5_000 });
    await store.came(1);
    await time.pass(5_000);
    expect(await flushed).toEqual({ sent: 0, failed: 0, pending: 3 });
    store.answer = () => undefined;
    await time.pass(5_000);
    time.hanging = false;
    await time.pass(200);
    expect(await sink.flush()).toEqual({ sent: 3, failed: 0, pending: 0 });
    expect(store.accepted).toEqual(names(3));
  });

  it("with a rollout waits for and counts that one only", async () => {
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    store.answer = ({ attempts }) => (attempts[0] === "ro-slow/at-ro-slow" ? gate : undefined);
    const sink = createStoreSink({ url: store.url });
    for (const span of many(2, "s", "ro-slow")) sink.add(span);
    for (const span of many(3, "f", "ro-fast")) sink.add(span);
    const slow = sink.flush({ rolloutId: "ro-slow" });
    await store.came(1);
    expect(await sink.flush({ rolloutId: "ro-fast" })).toEqual({ sent: 3, failed: 0, pending: 0 });
    expect(await sink.flush({ rolloutId: "ro-fast" })).toEqual({ sent: 0, failed: 0, pending: 0 });
    release();
    expect(await slow).toEqual({ sent: 2, failed: 0, pending: 0 });
    expect(await sink.flush()).toEqual({ sent: 0, failed: 0, pending: 0 });
  });

  it("does not wait for spans that come after it", async () => {
    const releases: Array<() => void> = [];
    store.answer = () => new Promise<void>((resolve) => releases.push(resolve));
    const sink = createStoreSink({ url: store.url });
    sink.add(finished("a"));
    const flushed = sink.flush();
    await store.came(1);
    sink.add(finished("b"));
    releases[0]?.();
    expect(await flushed).toEqual({ sent: 1, failed: 0, pending: 1 });
    const rest = sink.flush();
    await store.came(2);
    releases[1]?.();
    expect(await rest).toEqual({ sent: 1, failed: 0, pending: 0 });
  });

  it("with nothing to do is done at once", async () => {
    const time = createFakeTime();
    const sink = createStoreSink({ url: store.url, ...time });
    expect(await sink.flush()).toEqual({ sent: 0, failed: 0, pending: 0 });
    expect(time.waiting()).toEqual([]);
  });
});

describe("shutdown", () => {
  it("delivers, and then takes nothing more", async () => {
    const sink = createStoreSink({ url: store.url });
    for (const span of many(3)) sink.add(span);
    const first = sink.shutdown();
    expect(sink.shutdown()).toBe(first);
    expect(await first).toEqual({ sent: 3, failed: 0, pending: 0 });
    sink.add(finished("late"));
    expect(await sink.flush()).toEqual({ sent: 0, failed: 1, pending: 0 });
    expect(store.accepted).toEqual(names(3));
  });

  it("ends at its deadline, ends the request under way, and counts what is lost", async () => {
    const time = createFakeTime();
    store.answer = () => "hang";
    const sink = createStoreSink({ url: store.url, ...time });
    for (const span of many(3)) sink.add(span);
    time.hanging = true;
    const done = sink.shutdown({ timeoutMs: 2_000 });
    await store.came(1);
    await time.pass(2_000);
    expect(await done).toEqual({ sent: 0, failed: 3, pending: 0 });
    expect(time.waiting()).toEqual([]);
  });
});

describe("an interruption", () => {
  it("ends requests and starts none, until somebody flushes or adds", async () => {
    const time = createFakeTime();
    store.answer = () => "hang";
    const sink = createStoreSink({ url: store.url, ...time, requestTimeoutMs: 600_000 });
    for (const span of many(3)) sink.add(span);
    time.hanging = true;
    void sink.flush({ timeoutMs: 1_000 });
    await store.came(1);
    sink.interrupt();
    time.hanging = false;
    await time.pass(60_000);
    expect(store.requests).toHaveLength(1);
    store.answer = () => undefined;
    sink.add(finished("more"));
    await time.pass(60_000);
    expect(store.accepted).toEqual([...names(3), "more"]);
    sink.interrupt();
    sink.add(finished("last"));
    sink.interrupt();
    expect(await sink.flush()).toEqual({ sent: 5, failed: 0, pending: 0 });
  });

  it("holds even where it comes before the request", async () => {
    const time = createFakeTime();
    const sink = createStoreSink({ url: store.url, ...time });
    sink.add(finished("a"));
    void sink.flush({ timeoutMs: 1_000 });
    sink.interrupt();
    await time.pass(60_000);
    expect(store.requests).toEqual([]);
    expect(sink.pending).toBe(1);
  });
});

describe("options", () => {
  it.each(["", "127.0.0.1:4747", "ftp://host", "http://"])("refuse the url %j", (url) => {
    expect(() => createStoreSink({ url })).toThrow(
      expect.objectContaining({
        code: "invalid_argument",
        message: expect.stringContaining(JSON.stringify(url)),
      }),
    );
  });

  it.each(["", "a\nb", "a b", "ключ"])("refuse the key %j without naming it", (key) => {
    try {
      createStoreSink({ url: store.url, key });
      expect.unreachable();
    } catch (error) {
      expect(AglError.is(error) && error.code).toBe("invalid_argument");
      if (key !== "") expect(String(error)).not.toContain(key);
    }
  });
});
