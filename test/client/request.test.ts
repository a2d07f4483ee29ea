import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createLightningStoreClient, type LightningStoreClient } from "../../src/client/client.ts";
import { AglError, type AglErrorCode } from "../../src/errors.ts";
import {
  fakeTime,
  hang,
  reset,
  resetInBody,
  type ScriptedServer,
  type Step,
  serveScript,
} from "./scripted-server.ts";

const servers: ScriptedServer[] = [];
async function serve(script: Parameters<typeof serveScript>[0]): Promise<ScriptedServer> {
  const server = await serveScript(script);
  servers.push(server);
  return server;
}
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function failureOf(call: Promise<unknown>): Promise<AglError> {
  const error = await call.then(
    (value) => expect.fail(`resolved with ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  if (!AglError.is(error)) throw error;
  return error;
}

/** A port of loopback where nobody listens. */
async function unusedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}

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

/** Every call that must not run twice, and every kind of call that can. */
const ONCE: Record<string, (store: LightningStoreClient) => Promise<unknown>> = {
  enqueueRollouts: (store) => store.enqueueRollouts([{ input: 1 }]),
  dequeueRollouts: (store) => store.dequeueRollouts(),
  startRollout: (store) => store.startRollout({ input: 1 }),
  startAttempt: (store) => store.startAttempt("ro-1"),
  nextSequenceId: (store) => store.nextSequenceId("ro-1", "at-1"),
  addResources: (store) => store.addResources({}),
  updateResources: (store) => store.updateResources("rs-1", {}),
  "updateAttempt latest": (store) => store.updateAttempt("ro-1", "latest", { status: "succeeded" }),
};
const REPEATABLE: Record<string, (store: LightningStoreClient) => Promise<unknown>> = {
  queryRollouts: (store) => store.queryRollouts(),
  getRollout: (store) => store.getRollout("ro-1"),
  updateRollout: (store) => store.updateRollout("ro-1", { status: "cancelled" }),
  queryAttempts: (store) => store.queryAttempts("ro-1"),
  getLatestAttempt: (store) => store.getLatestAttempt("ro-1"),
  updateAttempt: (store) => store.updateAttempt("ro-1", "at-1", { status: "succeeded" }),
  querySpans: (store) => store.querySpans({ rollout_id: "ro-1" }),
  queryResources: (store) => store.queryResources(),
  getResources: (store) => store.getResources("rs-1"),
  getLatestResources: (store) => store.getLatestResources(),
  queryWorkers: (store) => store.queryWorkers(),
  getWorker: (store) => store.getWorker("w"),
  updateWorker: (store) => store.updateWorker("w"),
  statistics: (store) => store.statistics(),
};
/** The request may have been carried out. */
const UNKNOWN_END: Record<string, Step> = {
  reset,
  "reset in the body": resetInBody,
  hang,
  "status 500": { status: 500, json: { detail: "boom" } },
  "status 502": { status: 502, text: "<h1>Bad gateway</h1>" },
  "status 503": { status: 503, json: { detail: "restarting" } },
  "status 504": { status: 504, text: "" },
  "status 408": { status: 408, json: { detail: "slow" } },
};
/** The server says that it did not take the request. */
const REFUSED: Record<string, Step> = {
  "status 429": { status: 429, json: { detail: "busy" } },
  "status 425": { status: 425, json: { detail: "early" } },
  "status 503 with Retry-After": { status: 503, json: { detail: "full" }, headers: { "retry-after": "0" } },
};
const GOOD: Step = { json: { sequence_id: 7, items: [] } };

function clientOf(url: string, time = fakeTime(), timeoutMs = 20_000): LightningStoreClient {
  return createLightningStoreClient({
    url,
    timeoutMs,
    random: () => 0.5,
    sleep: time.sleep,
    now: time.now,
  });
}

describe("what is sent again", () => {
  for (const [fault, step] of Object.entries(UNKNOWN_END)) {
    const timeoutMs = step === hang ? 300 : 20_000;
    for (const [name, call] of Object.entries(ONCE)) {
      it(`does not repeat ${name} after ${fault}`, async () => {
        const server = await serve([step, GOOD]);
        const error = await failureOf(call(clientOf(server.url, fakeTime(), timeoutMs)));
        expect(error.message).toContain("It was not sent again");
        expect(error.retryable).toBe(false);
        expect(server.seen).toHaveLength(1);
      });
    }
    for (const [name, call] of Object.entries(REPEATABLE)) {
      it(`repeats ${name} after ${fault}`, async () => {
        const server = await serve([step, step, GOOD]);
        await call(clientOf(server.url, fakeTime(), timeoutMs));
        expect(server.seen).toHaveLength(3);
        expect(server.seen[2]).toEqual({ ...server.seen[0], headers: server.seen[2]?.headers });
      });
    }
  }
  for (const [fault, step] of Object.entries(REFUSED)) {
    for (const [name, call] of Object.entries({ ...ONCE, ...REPEATABLE })) {
      it(`repeats ${name} after ${fault}`, async () => {
        const server = await serve([step, GOOD]);
        await call(clientOf(server.url));
        expect(server.seen).toHaveLength(2);
      });
    }
  }
  for (const [name, call] of Object.entries({ ...ONCE, ...REPEATABLE })) {
    it(`repeats ${name} when the connection was refused`, async () => {
      const port = await unusedPort();
      const time = fakeTime();
      let late: ScriptedServer | undefined;
      const store = createLightningStoreClient({
        url: `http://127.0.0.1:${port}`,
        random: () => 0.5,
        now: time.now,
        sleep: async (ms, signal) => {
          await time.sleep(ms, signal);
          if (time.slept.length === 2) late = await serve([GOOD]);
        },
        fetch: (input, init) =>
          fetch(
            late === undefined ? input : String(input).replace(/:\d+\//, `:${new URL(late.url).port}/`),
            init,
          ),
      });
      await call(store);
      expect(time.slept).toEqual([125, 250]);
      expect(late?.seen).toHaveLength(1);
    });
  }
  for (const status of [400, 401, 403, 404, 405, 409, 413, 422, 501]) {
    it(`never repeats after ${status}`, async () => {
      const server = await serve([{ status, json: { detail: "no" } }]);
      const error = await failureOf(clientOf(server.url).queryRollouts());
      expect(error.status).toBe(status);
      expect(server.seen).toHaveLength(1);
    });
  }
});

describe("delays", () => {
  const busy = (headers?: Record<string, string>): Step => ({
    status: 503,
    json: {},
    ...(headers ? { headers } : {}),
  });

  it("grow to a limit, with full jitter, and end with the tries", async () => {
    const server = await serve([busy()]);
    const time = fakeTime();
    const draws = [0, 1, 0.5, 0.25, 1];
    const store = createLightningStoreClient({
      url: server.url,
      retry: { tries: 6, baseDelayMs: 100, maxDelayMs: 500 },
      random: () => draws.shift() ?? 1,
      ...time,
    });
    const error = await failureOf(store.statistics());
    expect(time.slept).toEqual([0, 200, 200, 125, 500]);
    expect(server.seen).toHaveLength(6);
    expect(error.code).toBe("unavailable");
    expect(error.message).toContain("(6 tries)");
  });

  it("heed Retry-After in seconds and as a date", async () => {
    const date = new Date(Date.UTC(2030, 0, 1, 0, 0, 0)).toUTCString();
    const later = new Date(Date.UTC(2030, 0, 1, 0, 0, 9)).toUTCString();
    const server = await serve([
      busy({ "retry-after": "3" }),
      busy({ date, "retry-after": later }),
      busy({ "retry-after": "soon" }),
      { json: { name: "x" } },
    ]);
    const time = fakeTime();
    expect(await clientOf(server.url, time).statistics()).toEqual({ name: "x" });
    expect(time.slept).toEqual([3_000, 9_000, 500]);
  });

  it("end at once when Retry-After is beyond the budget", async () => {
    const server = await serve([busy({ "retry-after": "61" })]);
    const time = fakeTime();
    await failureOf(clientOf(server.url, time).statistics());
    expect(time.slept).toEqual([]);
    expect(server.seen).toHaveLength(1);
  });

  it("count the time of the tries into the budget", async () => {
    const time = fakeTime();
    const server = await serve(() => {
      time.advance(25_000);
      return busy();
    });
    await failureOf(clientOf(server.url, time).statistics());
    expect(server.seen).toHaveLength(3);
  });
});

describe("errors", () => {
  const cases: [string, Step, AglErrorCode, RegExp][] = [
    [
      "a wrong key",
      { status: 401, json: { detail: "Unauthorized" } },
      "unauthorized",
      /401: Unauthorized\. Give the store's key/,
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
