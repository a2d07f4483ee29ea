import { describe, expect, it } from "vitest";
import { createLightningStoreClient, type LightningStoreClient } from "../../src/client/client.ts";
import { clientOf, failureOf, GOOD, serve, unusedPort } from "./calling.ts";
import { fakeTime, hang, reset, resetInBody, type ScriptedServer, type Step } from "./scripted-server.ts";

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
