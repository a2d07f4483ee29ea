import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type DiagLogger, diag } from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as agl from "../../src/index.ts";
import type { Span } from "../../src/protocol/span.ts";
import { type StoreServer, serveStore } from "../../src/server/index.ts";
import { type LocalStore, openMemoryStore, type StoreEvent } from "../../src/store/index.ts";
import { createMemorySink } from "../../src/testing/memory-sink.ts";
import { spanTree } from "../../src/testing/span-tree.ts";

let store: LocalStore;
let server: StoreServer;
let errors: string[];
beforeEach(async () => {
  store = await openMemoryStore();
  server = await serveStore({ store, port: 0 });
  // A busy machine takes its time to start 200 rollouts at once.
  agl.configure({ storeUrl: server.url, startTimeoutMs: 60_000 });
  errors = [];
  const note = (text: string) => void errors.push(text);
  const silent = () => {};
  const logger: DiagLogger = { error: note, warn: note, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { suppressOverrideMessage: true });
});
afterEach(async () => {
  await agl.shutdown();
  await server.close();
  diag.disable();
});

const spansOf = async (rolloutId: string): Promise<Span[]> =>
  (await store.querySpans({ rollout_id: rolloutId })).items;

describe("a rollout that succeeds", () => {
  test("is started with what was given, and its tree is whole", async () => {
    const work = agl.tool("work", (n: number) => n * 2);
    const result = await agl.rollout(
      { input: { q: 1 }, mode: "train", metadata: { from: "test" }, config: { timeout_seconds: 60 } },
      async ({ input, mode, rolloutId }) => {
        expect([input, mode, rolloutId.slice(0, 3)]).toEqual([{ q: 1 }, "train", "ro-"]);
        const value = await agl.agent("solver", async () => work(21));
        agl.emitReward({ correct: 1, short: 0.5 }, { primaryKey: "correct" });
        return value;
      },
    );
    expect(result).toMatchObject({ value: 42, reward: 1, stored: true });
    expect(await store.getRollout(result.rolloutId)).toMatchObject({
      status: "succeeded",
      input: { q: 1 },
      mode: "train",
      metadata: { from: "test" },
      config: { timeout_seconds: 60 },
      attempt: { attempt_id: result.attemptId, status: "succeeded" },
    });
    expect(spanTree(await spansOf(result.rolloutId))).toBe(
      [
        "agentlightning.rollout",
        "  invoke_agent solver [solver]",
        "    execute_tool work [solver]",
        "  agentlightning.annotation",
        "",
      ]
        .join("\n")
        .trimEnd(),
    );
  });

  test("is reported only after all its spans are there", async () => {
    const events: string[] = [];
    store.subscribe((event: StoreEvent) => {
      if (event.type === "spans") events.push(`${event.count} spans`);
      if (event.type === "attempt" && event.attempt.status === "succeeded") events.push("succeeded");
    });
    await agl.rollout({ input: 1 }, () => {
      for (let i = 0; i < 2_000; i++) agl.emitMessage("x".repeat(100));
    });
    expect(events.at(-1)).toBe("succeeded");
    const counts = events.slice(0, -1).map((text) => Number.parseInt(text, 10));
    expect(counts.reduce((a, b) => a + b, 0)).toBe(2_001);
  });
});

test("a rollout that fails is reported so, and its error is the caller's, untouched", async () => {
  const error = Object.freeze(new TypeError("mine"));
  let id = "";
  const run = agl.rollout({ input: 1 }, ({ rolloutId }) => {
    id = rolloutId;
    throw error;
  });
  await expect(run).rejects.toBe(error);
  expect(await store.getRollout(id)).toMatchObject({ status: "failed" });
  const [root] = await spansOf(id);
  expect(root).toMatchObject({
    name: "agentlightning.rollout",
    status: { status_code: "ERROR", description: "mine" },
  });
});

test("rollouts do not nest, and the refusal names the outer one", async () => {
  const inner = agl.rollout({ input: 1 }, ({ rolloutId }) =>
    agl
      .rollout({ input: 2 }, () => 1)
      .catch((error: unknown) => [agl.AglError.is(error), String(error), rolloutId]),
  );
  const [isOurs, message, rolloutId] = (await inner).value as unknown as [boolean, string, string];
  expect(isOurs).toBe(true);
  expect(message).toContain(rolloutId);
});

test("spans that are open at the end are ended as incomplete, before the root", async () => {
  const never = agl.tool("never", () => new Promise<never>(() => {}));
  const { rolloutId } = await agl.rollout({ input: 1 }, async () => {
    void agl.agent("a", () => never());
  });
  const spans = await spansOf(rolloutId);
  expect(spans.map(({ name, attributes }) => [name, attributes["agentlightning.outcome"]])).toEqual([
    ["execute_tool never", "incomplete"],
    ["invoke_agent a", "incomplete"],
    ["agentlightning.rollout", "ok"],
  ]);
});

test("200 rollouts at once in one process: each has its own spans and its own reward", async () => {
  const work = agl.tool("work", async (i: number) => {
    await new Promise((resolve) => setTimeout(resolve, i % 7));
    return i;
  });
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      agl.rollout({ input: i }, async () => {
        await agl.agent(`agent-${i}`, () => work(i));
        agl.emitReward(i);
        return i;
      }),
    ),
  );
  for (const [i, { rolloutId, value, reward }] of results.entries()) {
    expect([value, reward]).toEqual([i, i]);
    const spans = await spansOf(rolloutId);
    expect(spans.map((span) => span.name)).toEqual([
      "execute_tool work",
      `invoke_agent agent-${i}`,
      "agentlightning.annotation",
      "agentlightning.rollout",
    ]);
    expect(spans.map((span) => span.sequence_id)).toEqual([1, 2, 3, 4]);
    expect(spans[0]?.attributes["gen_ai.tool.call.result"]).toBe(String(i));
  }
});

describe("without a store", () => {
  test("a rollout is local, and rewards are still told", async () => {
    agl.configure({ storeUrl: null });
    const result = await agl.rollout({ input: 1 }, () => {
      agl.emitReward(0.25);
      return "x";
    });
    expect(result).toMatchObject({ value: "x", reward: 0.25, stored: false });
    expect(result.rolloutId).toMatch(/^local-/);
    expect(await agl.flush()).toEqual({ sent: 0, failed: 0, pending: 0 });
  });

  test("exporters get every span", async () => {
    const sink = createMemorySink();
    agl.configure({ storeUrl: null, exporters: [sink] });
    agl.tool("outside", () => 1)();
    await agl.rollout({ input: 1 }, () => agl.tool("inside", () => 1)());
    await agl.flush();
    expect(sink.spans.map((span) => span.name)).toEqual([
      "execute_tool outside",
      "execute_tool inside",
      "agentlightning.rollout",
    ]);
  });

  test("one that refuses at the start leaves the program alone", async () => {
    agl.configure({
      storeUrl: "http://127.0.0.1:1",
      fetch: () => Promise.resolve(new Response("no", { status: 403 })),
    });
    const result = await agl.rollout({ input: 1 }, () => "still here");
    expect(result).toMatchObject({ value: "still here", stored: false });
    expect(errors.join("\n")).toMatch(/runs without the store.*403/);
  });
});

test("a store that hangs at the start holds the program up for startTimeoutMs, no longer", async () => {
  agl.configure({
    storeUrl: "http://127.0.0.1:1",
    startTimeoutMs: 10,
    fetch: (_, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason))),
  });
  const result = await agl.rollout({ input: 1 }, () => "on my way");
  expect(result).toMatchObject({ value: "on my way", stored: false });
  expect(errors).toEqual(["agentlightning: the rollout runs without the store: no answer within 10 ms"]);
});

test("a wrong address in the environment is named, and the program runs as without it", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", join(import.meta.dirname, "program.ts")],
    {
      env: {
        ...process.env,
        AGL_STORE_URL: "localhost:4747",
        AGL_ROLLOUT_ID: "ro-1",
        AGL_ATTEMPT_ID: "at-1",
      },
    },
  );
  expect(JSON.parse(stdout)).toMatchObject({ value: expect.stringMatching(/^local-/), stored: false });
  expect(stderr).toMatch(
    /^agentlightning: nothing is sent: The store's URL "localhost:4747" is not [^\n]*\n$/,
  );
});

test("a store that goes away in the middle gets spans and report when it is back", async () => {
  let down = false;
  let refused = 0;
  agl.configure({
    storeUrl: server.url,
    reportTimeoutMs: 0,
    fetch: (input, init) => {
      if (!down) return fetch(input, init);
      refused += 1;
      if (refused === 4) down = false;
      return Promise.reject(
        new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) }),
      );
    },
  });
  const { rolloutId } = await agl.rollout({ input: 1 }, () => {
    down = true;
    agl.emitReward(1);
  });
  await agl.flush();
  expect(refused).toBe(4);
  expect(await store.getRollout(rolloutId)).toMatchObject({ status: "succeeded" });
  expect((await spansOf(rolloutId)).map((span) => span.name)).toEqual([
    "agentlightning.annotation",
    "agentlightning.rollout",
  ]);
});

test.each([
  ["train", [true, true]],
  ["val", [false, false]],
  ["", [false, true]],
])(
  "a process that a controller started (mode %j) is one rollout as a whole, and its end delivers",
  async (mode, asked) => {
    const { rollout_id, attempt } = await store.startRollout({ input: "task" });
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "tsx", join(import.meta.dirname, "program.ts")],
      {
        env: {
          ...process.env,
          AGL_STORE_URL: server.url,
          AGL_ROLLOUT_ID: rollout_id,
          AGL_ATTEMPT_ID: attempt.attempt_id,
          AGL_ROLLOUT_MODE: mode,
        },
      },
    );
    expect(JSON.parse(stdout)).toEqual({ value: rollout_id, stored: true, reward: 0.5, asked });
    const spans = await spansOf(rollout_id);
    expect(spanTree(spans)).toBe(
      [
        "agentlightning.rollout",
        "  invoke_agent solver [solver]",
        "    execute_tool work [solver]",
        "  openai.chat.completion",
        "  openai.chat.completion",
        "  agentlightning.annotation",
      ].join("\n"),
    );
    expect(spans.every((span) => span.attributes["agentlightning.outcome"] === "ok")).toBe(true);
    expect(await store.getRollout(rollout_id)).toMatchObject({ status: "running" });
  },
);

describe("configure", () => {
  for (const url of ["localhost:4747", "ftp://x", "http://", "not a url"]) {
    test(`refuses "${url}" and names it`, () => {
      expect(() => agl.configure({ storeUrl: url })).toThrow(url);
    });
  }

  test("a second call replaces the first, and what the first holds is still delivered", async () => {
    const first = await agl.rollout({ input: 1 }, () => void agl.emitReward(1));
    agl.configure({ storeUrl: server.url });
    const second = await agl.rollout({ input: 2 }, () => void agl.emitReward(2));
    expect([first.stored, second.stored]).toEqual([true, true]);
    expect((await spansOf(first.rolloutId)).length).toBe(2);
  });

  test("no OTEL_* variable has an effect", async () => {
    const before = { ...process.env };
    Object.assign(process.env, {
      OTEL_SDK_DISABLED: "true",
      OTEL_TRACES_SAMPLER: "always_off",
      OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: "1",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
      OTEL_EXPORTER_OTLP_HEADERS: "x-secret=1",
      OTEL_RESOURCE_ATTRIBUTES: "secret=1",
      OTEL_SERVICE_NAME: "other",
    });
    try {
      agl.configure({ storeUrl: server.url });
      const { rolloutId } = await agl.rollout({ input: 1 }, () => void agl.emitReward(1));
      const spans = await spansOf(rolloutId);
      expect(spans.map((span) => span.name)).toEqual(["agentlightning.annotation", "agentlightning.rollout"]);
      expect(spans[0]?.resource.attributes["service.name"]).toBe("agentlightning");
      expect(JSON.stringify(spans)).not.toContain("secret");
    } finally {
      process.env = before;
    }
  });
});
