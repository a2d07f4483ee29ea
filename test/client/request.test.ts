import { describe, expect, it } from "vitest";
import { createLightningStoreClient } from "../../src/client/client.ts";
import { AglError, type AglErrorCode } from "../../src/errors.ts";
import { clientOf, failureOf, GOOD, serve, unusedPort } from "./calling.ts";
import { hang, type Step } from "./scripted-server.ts";

const PYTHON_NOT_FOUND = {
  detail: "Internal server error",
  error_type: "ValueError",
  traceback: "Traceback (most recent call last):\n  File x\nValueError: Rollout ro-1 not found\n",
};
const PYTHON_NO_SHAPE = {
  detail: "Internal server error",
  error_type: "ResponseValidationError",
  traceback: "Traceback\nfastapi.exceptions.ResponseValidationError: 2 validation errors:\n  {'loc': x}\n",
};

describe("errors", () => {
  const cases: [string, Step, AglErrorCode, RegExp][] = [
    [
      "a wrong key",
      { status: 401, json: { detail: "Unauthorized" } },
      "unauthorized",
      /401: Unauthorized\. Give the store's key/,
    ],
    [
      "a wrong key, told in a sentence",
      { status: 401, json: { detail: "The key is wrong." } },
      "unauthorized",
      /401: The key is wrong\. Give the store's key/,
    ],
    [
      "a schema fault",
      { status: 422, json: { detail: [{ loc: ["body", "limit"], msg: "bad" }] } },
      "invalid_argument",
      /\["body","limit"\]/,
    ],
    [
      "a state conflict",
      { status: 409, json: { detail: "already finished" } },
      "conflict",
      /already finished/,
    ],
    [
      "an unknown rollout",
      { status: 404, json: { detail: "Rollout ro-1 not found" } },
      "not_found",
      /Rollout ro-1 not found/,
    ],
    [
      "an unknown route",
      { status: 404, json: { detail: "Not Found" } },
      "unsupported",
      /root of a LightningStore/,
    ],
    [
      "another program",
      { status: 404, text: "<h1>nginx</h1>" },
      "unsupported",
      /nginx.*root of a LightningStore/,
    ],
    ["a web page", { text: "<html></html>" }, "unsupported", /without JSON \(text\/html\)/],
    [
      "a redirect",
      { status: 302, headers: { location: "https://x/" } },
      "invalid_argument",
      /redirected to https:\/\/x\//,
    ],
    ["a body over the limit", { status: 413, json: { detail: "too big" } }, "payload_too_large", /Send less/],
    [
      "Python's unknown rollout",
      { status: 500, json: PYTHON_NOT_FOUND },
      "not_found",
      /Rollout ro-1 not found$/,
    ],
    [
      "a fault of Python's store",
      { status: 500, json: { ...PYTHON_NOT_FOUND, traceback: "x\nValueError: bad sort\n" } },
      "invalid_argument",
      /bad sort$/,
    ],
  ];
  for (const [name, step, code, message] of cases) {
    it(`names ${name}`, async () => {
      const server = await serve([step]);
      const store = createLightningStoreClient({ url: `${server.url}/`, key: "sekret" });
      const error = await failureOf(store.updateRollout("ro-1", {}));
      expect(error.code).toBe(code);
      expect(error.message).toMatch(message);
      expect(error.message).toContain(`POST ${server.url}/v1/agl/rollouts/ro-1`);
      expect(error.message).not.toContain("sekret");
      expect(server.seen).toHaveLength(1);
      expect(server.seen[0]?.headers["authorization"]).toBe("Bearer sekret");
    });
  }

  it("says how to start a store where none runs", async () => {
    const store = createLightningStoreClient({
      url: `http://127.0.0.1:${await unusedPort()}`,
      retry: { tries: 1 },
    });
    const error = await failureOf(store.statistics());
    expect(error.code).toBe("unavailable");
    expect(error.message).toMatch(/no connection \(ECONNREFUSED\).*agl serve/);
  });

  it("tells a time-out", async () => {
    const server = await serve([hang]);
    const store = createLightningStoreClient({ url: server.url, timeoutMs: 40, retry: { tries: 1 } });
    const error = await failureOf(store.statistics());
    expect([error.code, error.retryable]).toEqual(["timeout", true]);
    expect(error.message).toContain("no answer within 40 ms");
  });

  it("refuses what cannot be sent, before anything is sent", async () => {
    const server = await serve([GOOD]);
    const store = createLightningStoreClient({ url: server.url });
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    for (const call of [
      store.enqueueRollouts([{ input: cyclic as never }]),
      store.enqueueRollouts([{ input: 1n as never }]),
      store.updateRollout("", {}),
      store.updateWorker("..", {}),
      store.updateAttempt("ro-1", ".", {}),
    ]) {
      expect((await failureOf(call)).code).toBe("invalid_argument");
    }
    expect(server.seen).toEqual([]);
    for (const url of ["localhost:4747", "", "ftp://x", "http://user:pw@x"]) {
      expect(() => createLightningStoreClient({ url })).toThrowError(AglError);
    }
    expect(() => createLightningStoreClient({ url: "http://x", key: "a\nb" })).toThrowError(/printable/);
  });

  it("escapes ids in paths and keeps a path prefix of the URL", async () => {
    const server = await serve([GOOD]);
    await createLightningStoreClient({ url: `${server.url}/stores/a//` }).getWorker("host/1 ü?#");
    expect(server.seen[0]?.path).toBe("/stores/a/v1/agl/workers/host%2F1%20%C3%BC%3F%23");
  });
});

describe("null for what is not there", () => {
  for (const [server, step] of [
    ["ours", { status: 404, json: { detail: "Rollout ro-1 not found" } }],
    ["Python's null", { json: null }],
    ["Python's broken shape", { status: 500, json: PYTHON_NO_SHAPE }],
  ] as const) {
    it(`getRollout: ${server}`, async () => {
      const { url, seen } = await serve([step]);
      expect(await clientOf(url).getRollout("ro-1")).toBeNull();
      expect(seen).toHaveLength(1);
    });
  }
  it("but never for a wrong address", async () => {
    const { url } = await serve([{ status: 404, json: { detail: "Not Found" } }]);
    const store = clientOf(url);
    for (const call of [
      store.getRollout("x"),
      store.getLatestAttempt("x"),
      store.getResources("x"),
      store.getLatestResources(),
      store.getWorker("x"),
    ]) {
      expect((await failureOf(call)).code).toBe("unsupported");
    }
  });
});

describe("the end of a client", () => {
  it("aborts the call under way, and leaves no listener on the caller's signal", async () => {
    const server = await serve([hang]);
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = ((...args: Parameters<typeof add>) => {
      listeners++;
      add(...args);
    }) as typeof add;
    signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
      listeners--;
      remove(...args);
    }) as typeof remove;
    const store = createLightningStoreClient({ url: server.url });
    const pending = failureOf(store.withSignal(signal).statistics());
    while (server.seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(listeners).toBe(1);
    controller.abort(new Error("enough"));
    const error = await pending;
    expect(error.code).toBe("aborted");
    expect((error.cause as Error).message).toBe("enough");
    expect(listeners).toBe(0);
    expect((await failureOf(store.withSignal(signal).statistics())).code).toBe("aborted");
    expect(server.seen).toHaveLength(1);
  });

  it("holds one listener on a signal for any number of calls", async () => {
    const server = await serve([hang]);
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    const controller = new AbortController();
    const store = createLightningStoreClient({ url: server.url, signal: controller.signal });
    const pending = Array.from({ length: 40 }, () => failureOf(store.statistics()));
    const closedWith = failureOf(
      createLightningStoreClient({ url: server.url }).withSignal(controller.signal).statistics(),
    );
    while (server.seen.length < 41) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect(new Set((await Promise.all([...pending, closedWith])).map((error) => error.code))).toEqual(
      new Set(["aborted"]),
    );
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  it("aborts a pause between two tries", async () => {
    const server = await serve([{ status: 503, json: {} }]);
    const controller = new AbortController();
    const store = createLightningStoreClient({
      url: server.url,
      random: () => 1,
      retry: { baseDelayMs: 1_000_000, maxDelayMs: 1_000_000, budgetMs: 10_000_000 },
      signal: controller.signal,
    });
    const pending = failureOf(store.statistics());
    while (server.seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    setImmediate(() => controller.abort());
    expect((await pending).code).toBe("aborted");
  });

  it("closes: calls under way and later ones reject with closed", async () => {
    const server = await serve([hang]);
    const store = createLightningStoreClient({ url: server.url });
    const pending = failureOf(store.statistics());
    const waiting = failureOf(store.waitForRollouts(["ro-1"]));
    while (server.seen.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await store.close();
    await store.close();
    expect((await pending).code).toBe("closed");
    expect((await waiting).code).toBe("closed");
    expect((await failureOf(store.statistics())).code).toBe("closed");
    expect((await failureOf(store.enqueueRollouts([{ input: 1 }]))).code).toBe("closed");
  });
});
