import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AgentOrders } from "./agent-process.ts";
import { names } from "./finished.ts";
import { type FlakyStore, serveFlakyStore } from "./flaky-store.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

let store: FlakyStore;
let directory: ReturnType<typeof temporaryDirectory>;
beforeEach(async () => {
  store = await serveFlakyStore();
  directory = temporaryDirectory();
});
afterEach(async () => {
  await store.close();
  directory[Symbol.dispose]();
});

// Bundled once: with a loader for TypeScript each of the many processes here would start for seconds.
const bundle = temporaryDirectory();
const script = join(bundle.path, "agent.mjs");
beforeAll(() =>
  build({
    entryPoints: [fileURLToPath(new URL("./agent-process.ts", import.meta.url))],
    outfile: script,
    bundle: true,
    platform: "node",
    format: "esm",
    mainFields: ["module", "main"],
  }),
);
afterAll(() => bundle[Symbol.dispose]());

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: string;
  errors: string;
}

interface Agent {
  process: ChildProcess;
  ready: Promise<void>;
  ended: Promise<Ended>;
}

function start(orders: Omit<AgentOrders, "url">, env: Record<string, string> = {}): Agent {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", script, JSON.stringify({ url: store.url, ...orders })],
    {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  let errors = "";
  const ready = new Promise<void>((resolve) => {
    child.stdout.on("data", (data) => {
      output += data;
      if (output.includes("ready")) resolve();
    });
  });
  child.stderr.on("data", (data) => {
    errors += data;
  });
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, output, errors }));
  return { process: child, ready, ended };
}

const run = (orders: Omit<AgentOrders, "url">, env?: Record<string, string>) => start(orders, env).ended;
const SPANS = 300;

describe("a natural end", () => {
  it("delivers without any call", async () => {
    expect(await run({ spans: SPANS, end: "natural" })).toMatchObject({ code: 0, errors: "" });
    expect(store.accepted).toEqual(names(SPANS));
  });

  it("delivers with shutdown, once", async () => {
    const { code, output } = await run({ spans: SPANS, end: "shutdown" });
    expect([code, JSON.parse(output)]).toEqual([0, { sent: SPANS, failed: 0, pending: 0 }]);
    expect(store.accepted).toEqual(names(SPANS));
  });

  it.each<[string, () => void]>([
    [
      "hangs",
      () => {
        store.answer = () => "hang";
      },
    ],
    [
      "answers 503",
      () => {
        store.answer = () => ({ status: 503 });
      },
    ],
    [
      "answers 503 for a long time",
      () => {
        store.answer = () => ({ status: 503, headers: { "retry-after": "3600" } });
      },
    ],
    [
      "answers 401",
      () => {
        store.answer = () => ({ status: 401 });
      },
    ],
  ])(
    "is not held up longer than the deadline by a store that %s, and nothing spooled is lost",
    async (_, set) => {
      set();
      // Without the deadline the test would run into its own limit.
      const orders = { spans: SPANS, spoolDirectory: directory.path, timeoutMs: 300 } as const;
      expect(await run({ ...orders, end: "natural" })).toMatchObject({ code: 0 });
      store.answer = () => undefined;
      const { output } = await run({ spans: 0, spoolDirectory: directory.path, end: "shutdown" });
      expect(JSON.parse(output)).toEqual({ sent: SPANS, failed: 0, pending: 0 });
      expect([...new Set(store.acceptedBy("ro-1/at-ro-1"))]).toEqual(names(SPANS));
      expect(directory.files()).toEqual([]);
    },
  );

  it("is not held up by a request that hangs since before it, and nothing spooled is lost", async () => {
    store.answer = () => "hang";
    const orders = { spans: SPANS, spoolDirectory: directory.path, timeoutMs: 300 } as const;
    const agent = start({ ...orders, end: "on-signal" });
    await agent.ready;
    await store.came(1);
    agent.process.kill("SIGUSR2");
    // The request itself may take ten minutes.
    expect(await agent.ended).toMatchObject({ code: 0, signal: null });
    store.answer = () => undefined;
    const { output } = await run({ spans: 0, spoolDirectory: directory.path, end: "shutdown" });
    expect(JSON.parse(output)).toEqual({ sent: SPANS, failed: 0, pending: 0 });
  });

  it.each([true, false])("waits for the answer of a request that is under way, hooks: %s", async (hooks) => {
    let answer = () => {};
    const decided = new Promise<void>((resolve) => {
      answer = resolve;
    });
    store.answer = () => decided;
    const agent = start({ spans: SPANS, end: "on-signal", hooks });
    await agent.ready;
    await store.came(1);
    agent.process.kill("SIGUSR2");
    answer();
    expect(await agent.ended).toMatchObject({ code: 0, signal: null, errors: "" });
    expect(store.accepted).toEqual(names(SPANS));
  });

  it("is left alone without the hooks", async () => {
    expect(await run({ spans: SPANS, end: "natural", hooks: false })).toMatchObject({ code: 0 });
    expect(store.requests).toEqual([]);
  });
});

describe("an end without time", () => {
  it.each([
    ["process.exit", "exit", 3],
    ["an uncaught error", "throw", 1],
    ["an unhandled rejection", "reject", 1],
  ] as const)("by %s spools what waits, and keeps the exit code", async (_, end, code) => {
    expect(await run({ spans: SPANS, spoolDirectory: directory.path, end })).toMatchObject({ code });
    expect(store.requests).toEqual([]);
    const { output } = await run({ spans: 0, spoolDirectory: directory.path, end: "shutdown" });
    expect(JSON.parse(output)).toEqual({ sent: SPANS, failed: 0, pending: 0 });
    expect(store.accepted).toEqual(names(SPANS));
  });

  it("by kill -9 loses nothing of what was spooled", async () => {
    store.answer = () => ({ status: 503 });
    const agent = start({ spans: SPANS, spoolDirectory: directory.path, end: "spooled" });
    await agent.ready;
    agent.process.kill("SIGKILL");
    expect(await agent.ended).toMatchObject({ signal: "SIGKILL" });
    store.answer = () => undefined;
    // Two processes start on the same directory at once: each span is sent by one of them.
    const [first, second] = await Promise.all([
      run({ spans: 0, spoolDirectory: directory.path, end: "shutdown" }),
      run({ spans: 0, spoolDirectory: directory.path, end: "shutdown" }),
    ]);
    expect(JSON.parse(first.output).sent + JSON.parse(second.output).sent).toBe(SPANS);
    expect(store.accepted).toEqual(names(SPANS));
    expect(directory.files()).toEqual([]);
  });
});

describe("a signal", () => {
  it.each(["SIGTERM", "SIGINT"] as const)(
    "%s delivers, and then ends the process as it would have",
    async (signal) => {
      const agent = start({ spans: SPANS, end: "wait" });
      await agent.ready;
      agent.process.kill(signal);
      expect(await agent.ended).toMatchObject({ code: null, signal });
      expect(store.accepted).toEqual(names(SPANS));
    },
  );

  it("ends the process at the deadline when the store hangs, with everything spooled", async () => {
    store.answer = () => "hang";
    const agent = start({ spans: SPANS, spoolDirectory: directory.path, end: "wait", timeoutMs: 300 });
    await agent.ready;
    agent.process.kill("SIGTERM");
    expect(await agent.ended).toMatchObject({ signal: "SIGTERM" });
    store.answer = () => undefined;
    const { output } = await run({ spans: 0, spoolDirectory: directory.path, end: "shutdown" });
    expect(JSON.parse(output)).toEqual({ sent: SPANS, failed: 0, pending: 0 });
  });

  it("is heard once for all sinks of the process", async () => {
    const agent = start({ spans: SPANS, end: "wait", second: true });
    await agent.ready;
    agent.process.kill("SIGTERM");
    expect(await agent.ended).toMatchObject({ signal: "SIGTERM" });
    expect(store.acceptedBy("ro-1/at-ro-1")).toEqual(names(SPANS));
    expect(store.acceptedBy("ro-2/at-ro-2")).toEqual(names(SPANS, "t"));
  });

  it("sent twice ends the process at once", async () => {
    store.answer = () => "hang";
    const agent = start({ spans: SPANS, end: "wait", timeoutMs: 600_000 });
    await agent.ready;
    agent.process.kill("SIGTERM");
    await store.came(1);
    agent.process.kill("SIGTERM");
    expect(await agent.ended).toMatchObject({ signal: "SIGTERM" });
  });

  it("that the app handles itself is left to the app", async () => {
    const agent = start({ spans: SPANS, end: "wait-own-handler" });
    await agent.ready;
    agent.process.kill("SIGTERM");
    expect(await agent.ended).toMatchObject({ code: 7, signal: null });
    expect(store.accepted).toEqual(names(SPANS));
  });

  it("is none of our business when told so", async () => {
    const agent = start({ spans: SPANS, end: "wait", signals: false });
    await agent.ready;
    agent.process.kill("SIGTERM");
    expect(await agent.ended).toMatchObject({ signal: "SIGTERM" });
    expect(store.requests).toEqual([]);
  });
});

it("does not look at any OTEL_* variable", async () => {
  const headersOf = () => {
    const { host: _, ...headers } = store.requests[0]?.headers ?? {};
    return headers;
  };
  await run({ spans: 3, end: "natural" });
  const plain = headersOf();
  const { spans } = store.requests[0] ?? {};
  store.requests.length = 0;
  const vendor = "http://127.0.0.1:1";
  await run(
    { spans: 3, end: "natural" },
    {
      OTEL_SDK_DISABLED: "true",
      OTEL_TRACES_SAMPLER: "always_off",
      OTEL_TRACES_EXPORTER: "none",
      OTEL_EXPORTER_OTLP_ENDPOINT: vendor,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: vendor,
      OTEL_EXPORTER_OTLP_HEADERS: "x-vendor-key=secret",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-vendor-key=secret",
      OTEL_EXPORTER_OTLP_COMPRESSION: "none",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_TIMEOUT: "1",
      OTEL_BSP_MAX_QUEUE_SIZE: "1",
      OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: "1",
      OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: "1",
      OTEL_RESOURCE_ATTRIBUTES: "service.name=wrong",
      OTEL_SERVICE_NAME: "wrong",
    },
  );
  expect(headersOf()).toEqual(plain);
  expect(store.requests.map((request) => request.spans)).toEqual([spans]);
});
