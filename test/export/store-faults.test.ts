import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AglError } from "../../src/errors.ts";
import type { DropReport, StoreSinkOptions } from "../../src/export/store-options.ts";
import { createStoreSink } from "../../src/export/store-sink.ts";
import { createFakeTime, type FakeTime } from "./fake-time.ts";
import { finished, many, names } from "./finished.ts";
import { type Answer, type FlakyStore, serveFlakyStore } from "./flaky-store.ts";

let store: FlakyStore;
let time: FakeTime;
let errors: AglError[];
beforeEach(async () => {
  store = await serveFlakyStore();
  time = createFakeTime();
  errors = [];
});
afterEach(() => store.close());

function open(options: Partial<StoreSinkOptions> = {}) {
  return createStoreSink({
    url: store.url,
    compression: "none",
    onError: (error) => errors.push(error),
    random: () => 0.999_999,
    ...time,
    ...options,
  });
}

/** A port on which nobody listens. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("a store that is away", () => {
  it("for two minutes and comes back gets everything, once and in order", async () => {
    const port = await freePort();
    const sink = open({ url: `http://127.0.0.1:${port}` });
    for (let minute = 0; minute < 2; minute++) {
      for (const span of many(1_000, `m${minute}-`)) sink.add(span);
      await time.pass(60_000);
    }
    expect(sink.pending).toBe(2_000);
    expect(errors.map(({ code }) => code)).toEqual(["unavailable"]);
    expect(errors[0]?.message).toContain("ECONNREFUSED");
    await using back = await serveFlakyStore(port);
    const flushed = sink.flush({ timeoutMs: 60_000 });
    await time.pass(30_000);
    expect(await flushed).toEqual({ sent: 2_000, failed: 0, pending: 0 });
    expect(back.accepted).toEqual([...names(1_000, "m0-"), ...names(1_000, "m1-")]);
    expect(errors).toHaveLength(1);
  });

  it("is asked by one request at a time, ever more seldom, and by all lanes again when it answers", async () => {
    let release: () => void = () => undefined;
    const gate = new Promise<{ status: number }>((resolve) => {
      release = () => resolve({ status: 503 });
    });
    const times: number[] = [];
    store.answer = (_, index) => {
      times.push(time.now());
      return index < 4 ? gate : { status: 503 };
    };
    const sink = open({ maxDelayMs: 30_000, firstDelayMs: 250 });
    for (let i = 0; i < 8; i++) sink.add(finished(`s${i}`, `ro-${i}`));
    time.hanging = true;
    void sink.flush({ timeoutMs: 1 });
    await store.came(4);
    release();
    time.hanging = false;
    store.mostAtOnce.all = 0;
    const start = time.now();
    await time.pass(100_000);
    // The first four fail as one; the waits after that double up to their bound.
    expect(times.slice(4).map((at) => at - start)).toEqual([
      250, 750, 1_750, 3_750, 7_750, 15_750, 31_750, 61_750, 91_750,
    ]);
    expect(store.mostAtOnce.all).toBe(1);
    store.answer = () => undefined;
    await time.pass(30_000);
    expect(store.accepted.sort()).toEqual(names(8));
    expect(sink.pending).toBe(0);
  });

  it("is tried at once when somebody flushes, but not in a hot loop", async () => {
    store.answer = () => ({ status: 503 });
    const sink = open();
    sink.add(finished("a"));
    await time.pass(60_000);
    const before = store.requests.length;
    store.answer = () => undefined;
    const flushed = sink.flush();
    await time.pass(100);
    expect(await flushed).toEqual({ sent: 1, failed: 0, pending: 0 });
    expect(store.requests).toHaveLength(before + 1);
    store.answer = () => ({ status: 503 });
    sink.add(finished("b"));
    for (let i = 0; i < 50; i++) void sink.flush({ timeoutMs: 10 });
    await time.pass(99);
    expect(store.requests).toHaveLength(before + 2);
  });
});

describe("an answer that asks for later", () => {
  const date = (ms: number) => new Date(time.now() + ms).toUTCString();
  it.each<[string, number, string | (() => string) | undefined, number]>([
    ["503 without a time", 503, undefined, 250],
    ["503 with 0: never a hot loop", 503, "0", 100],
    ["503 with 1 s", 503, "1", 1_000],
    ["503 with 60 s", 503, "60", 60_000],
    ["503 with a date", 503, () => date(1_000 + 7_000), 7_000],
    ["503 with a date in the past", 503, () => date(-5_000), 100],
    ["503 with an hour: capped", 503, "3600", 120_000],
    ["503 with nonsense", 503, "soon", 250],
    ["429", 429, "2", 2_000],
    ["408", 408, undefined, 250],
    ["425", 425, undefined, 250],
    ["500", 500, undefined, 250],
    ["500 with a time", 500, "3", 3_000],
    ["502", 502, undefined, 250],
    ["504", 504, undefined, 250],
  ])("%s", async (_, status, after, delay) => {
    const sink = open();
    const header = typeof after === "function" ? after() : after;
    store.answer = (_request, index) =>
      index > 0 ? undefined : { status, headers: header === undefined ? {} : { "retry-after": header } };
    for (const span of many(3)) sink.add(span);
    await time.pass(1_000);
    expect(store.requests).toHaveLength(1);
    await time.pass(delay - 1);
    expect(store.requests).toHaveLength(1);
    await time.pass(1);
    expect(store.accepted).toEqual(names(3));
    expect(await sink.flush()).toEqual({ sent: 3, failed: 0, pending: 0 });
  });

  it("keeps to the server's time even when somebody flushes", async () => {
    store.answer = (_, index) =>
      index === 0 ? { status: 503, headers: { "retry-after": "60" } } : undefined;
    const sink = open();
    sink.add(finished("a"));
    await time.pass(1_000);
    const flushed = sink.flush({ timeoutMs: 30_000 });
    await time.pass(30_000);
    expect(await flushed).toEqual({ sent: 0, failed: 0, pending: 1 });
    expect(store.requests).toHaveLength(1);
    await time.pass(30_000);
    expect(store.accepted).toEqual(["a"]);
  });
});

describe("a connection", () => {
  it.each<[string, Answer]>([
    ["reset before the answer", "reset"],
    ["reset in the middle of the answer", "reset-mid-body"],
  ])("%s is tried again", async (_, answer) => {
    store.answer = (_request, index) => (index === 0 ? answer : undefined);
    const sink = open();
    for (const span of many(3)) sink.add(span);
    await time.pass(2_000);
    expect(store.requests).toHaveLength(2);
    expect(store.accepted).toEqual(names(3));
    expect(await sink.flush()).toEqual({ sent: 3, failed: 0, pending: 0 });
  });

  it("that hangs is ended at the time limit, and tried again", async () => {
    store.answer = (_, index) => (index === 0 ? "hang" : undefined);
    const sink = open({ requestTimeoutMs: 10_000 });
    for (const span of many(3)) sink.add(span);
    time.hanging = true;
    const flushed = sink.flush();
    await store.came(1);
    await time.pass(9_999);
    expect(store.requests).toHaveLength(1);
    await time.pass(1);
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining("no answer within 10000 ms"),
    ]);
    time.hanging = false;
    await time.pass(250);
    expect(await flushed).toEqual({ sent: 3, failed: 0, pending: 0 });
    expect(store.accepted).toEqual(names(3));
  });

  it("that is slow is waited for, and others go on beside it", async () => {
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    store.answer = ({ names: [name] }) => (name === "slow" ? gate : undefined);
    const sink = open();
    sink.add(finished("slow", "ro-slow"));
    sink.add(finished("quick", "ro-quick"));
    time.hanging = true;
    const all = sink.flush();
    expect(await sink.flush({ rolloutId: "ro-quick" })).toEqual({ sent: 1, failed: 0, pending: 0 });
    release();
    expect(await all).toEqual({ sent: 1, failed: 0, pending: 0 });
  });

  it("whose fetch does not look at its signal is left behind at the time limit", async () => {
    let calls = 0;
    const sink = open({
      requestTimeoutMs: 1_000,
      fetch: (input, init) => {
        calls += 1;
        return calls === 1 ? new Promise(() => undefined) : time.fetch(input, init);
      },
    });
    sink.add(finished("a"));
    await time.pass(1_000 + 1_000 + 250);
    expect(store.accepted).toEqual(["a"]);
  });
});

describe("a poison span", () => {
  it.each([400, 413, 422])(
    "answered with %i is found, reported and left out; the others arrive",
    async (status) => {
      store.answer = ({ names: [...all] }) =>
        all.includes("s37")
          ? { status, headers: { "content-type": "text/plain" }, body: "bad span" }
          : undefined;
      const sink = open();
      for (const span of many(100)) sink.add(span);
      expect(await sink.flush()).toEqual({ sent: 99, failed: 1, pending: 0 });
      expect(store.accepted).toEqual(names(100).filter((name) => name !== "s37"));
      expect(store.requests.length).toBeLessThanOrEqual(15);
      expect(errors.map(({ code, message }) => [code, message.includes(`${status}: bad span`)])).toEqual([
        ["invalid_argument", true],
      ]);
    },
  );

  it("is found among others of its kind", async () => {
    const bad = new Set(["s0", "s1", "s50", "s99"]);
    store.answer = (request) => (request.names.some((name) => bad.has(name)) ? { status: 400 } : undefined);
    const sink = open();
    for (const span of many(100)) sink.add(span);
    expect(await sink.flush()).toEqual({ sent: 96, failed: 4, pending: 0 });
    expect(store.accepted).toEqual(names(100).filter((name) => !bad.has(name)));
  });

  it("that makes the server fail (500) is given up when others arrive", async () => {
    store.answer = (request) => (request.names.includes("s3") ? { status: 500 } : undefined);
    const sink = open();
    for (const span of many(8)) sink.add(span);
    await time.pass(120_000);
    expect(await sink.flush()).toEqual({ sent: 7, failed: 1, pending: 0 });
    expect(store.accepted).toEqual(names(8).filter((name) => name !== "s3"));
  });

  it("is not suspected while the server fails at everything (500)", async () => {
    store.answer = () => ({ status: 500 });
    const sink = open();
    for (const span of many(8)) sink.add(span);
    await time.pass(600_000);
    expect(sink.pending).toBe(8);
    store.answer = () => undefined;
    await time.pass(60_000);
    expect(await sink.flush()).toEqual({ sent: 8, failed: 0, pending: 0 });
    expect(store.accepted).toEqual(names(8));
  });

  it("does not hold up other rollouts", async () => {
    store.answer = (request) => (request.names.includes("bad") ? { status: 500 } : undefined);
    const sink = open();
    sink.add(finished("bad", "ro-bad"));
    sink.add(finished("good", "ro-good"));
    expect(await sink.flush({ rolloutId: "ro-good" })).toEqual({ sent: 1, failed: 0, pending: 0 });
  });

  it("that cannot be encoded is left out", async () => {
    const sink = open();
    const broken = finished("broken");
    Object.defineProperty(broken, "startTime", { value: null });
    for (const span of [finished("a"), broken, finished("b")]) sink.add(span);
    expect(await sink.flush()).toEqual({ sent: 2, failed: 1, pending: 0 });
    expect(store.accepted).toEqual(["a", "b"]);
  });

  it("too large for the server (413) is split off", async () => {
    store.answer = ({ bodyBytes }) => (bodyBytes > 20_000 ? { status: 413 } : undefined);
    const sink = open();
    for (const span of many(20, "s", "ro-1", { text: "x".repeat(3_000) })) sink.add(span);
    sink.add(finished("huge", "ro-1", { text: "x".repeat(30_000) }));
    expect(await sink.flush()).toEqual({ sent: 20, failed: 1, pending: 0 });
    expect(store.accepted).toEqual(names(20));
  });
});

describe("a partial success", () => {
  // ExportTraceServiceResponse { partial_success { rejected_spans: 2, error_message: "no such rollout" } }
  const why = "no such rollout";
  const partial = new Uint8Array([0x0a, 2 + 2 + why.length, 0x08, 2, 0x12, why.length, ...Buffer.from(why)]);
  it.each<[string, { status: number; headers?: Record<string, string>; body: string | Uint8Array }]>([
    ["protobuf", { status: 200, body: partial }],
    [
      "JSON",
      {
        status: 200,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ partialSuccess: { rejectedSpans: "2", errorMessage: why } }),
      },
    ],
  ])("in %s counts as failed, with its reason", async (_, answer) => {
    store.answer = () => answer;
    const sink = open();
    for (const span of many(5)) sink.add(span);
    expect(await sink.flush()).toEqual({ sent: 3, failed: 2, pending: 0 });
    expect(store.requests).toHaveLength(1);
    expect(errors[0]?.message).toContain(why);
  });

  it("is not read out of a page that some proxy put in its place", async () => {
    store.answer = () => ({ status: 200, body: "<html>hello</html>" });
    const sink = open();
    sink.add(finished("a"));
    expect(await sink.flush()).toEqual({ sent: 1, failed: 0, pending: 0 });
  });
});

describe("a wrong address or key", () => {
  it.each([
    [401, "unauthorized"],
    [403, "unauthorized"],
    [404, "not_found"],
    [405, "unsupported"],
    [415, "unsupported"],
    [301, "unsupported"],
    [307, "unsupported"],
  ])("(%i) is said once, ends a flush early and loses nothing", async (status, code) => {
    store.answer = () => ({ status, headers: { location: "http://127.0.0.1:1/" } });
    const sink = open();
    for (const span of many(3)) sink.add(span);
    // No time passes: the flush does not wait for its deadline.
    expect(await sink.flush()).toEqual({ sent: 0, failed: 0, pending: 3 });
    await time.pass(120_000);
    expect(errors.map((error) => [error.code, error.status])).toEqual([[code, status]]);
    expect(store.requests.length).toBeLessThan(12);
    store.answer = () => undefined;
    await time.pass(60_000);
    expect(await sink.flush()).toEqual({ sent: 3, failed: 0, pending: 0 });
    expect(store.accepted).toEqual(names(3));
  });
});

describe("a full queue", () => {
  it("drops what comes, counts it, and says so once for each time that it fills up", async () => {
    const drops: DropReport[] = [];
    store.answer = () => ({ status: 503 });
    const sink = open({ queueSpans: 10, onDrop: (report) => drops.push(report) });
    for (const span of many(15)) sink.add(span);
    expect(drops.map(({ dropped, rolloutId }) => [dropped, rolloutId])).toEqual([[1, "ro-1"]]);
    store.answer = () => undefined;
    expect(await sink.flush()).toEqual({ sent: 10, failed: 5, pending: 0 });
    expect(store.accepted).toEqual(names(10));
    for (const span of many(12, "t")) sink.add(span);
    expect(drops.map(({ dropped }) => dropped)).toEqual([1, 6]);
    expect(await sink.flush()).toEqual({ sent: 10, failed: 2, pending: 0 });
  });

  it("is bound by bytes, with what is under way", async () => {
    store.answer = () => "hang";
    const sink = open({ queueBytes: 100_000, maxBatchSpans: 2 });
    time.hanging = true;
    for (const span of many(20, "s", "ro-1", { text: "x".repeat(10_000) })) sink.add(span);
    void sink.flush({ timeoutMs: 1 });
    await store.came(1);
    for (const span of many(20, "t", "ro-1", { text: "x".repeat(10_000) })) sink.add(span);
    // 20 000 bytes of text and 500 of the rest each.
    expect(sink.pending).toBe(4);
  });

  it("does not take a span that is larger than itself, and takes the next", async () => {
    const sink = open({ queueBytes: 50_000 });
    sink.add(finished("huge", "ro-1", { text: "x".repeat(50_000) }));
    sink.add(finished("a"));
    expect(await sink.flush()).toEqual({ sent: 1, failed: 1, pending: 0 });
  });
});

it("survives callbacks that throw", async () => {
  const raise = () => {
    throw new Error("theirs");
  };
  store.answer = (_, index) => (index === 0 ? { status: 503 } : { status: 400 });
  const sink = open({ onDrop: raise, onError: raise, queueSpans: 1 });
  for (const span of many(2)) sink.add(span);
  const flushed = sink.flush();
  await time.pass(1_000);
  expect(await flushed).toEqual({ sent: 0, failed: 2, pending: 0 });
});
