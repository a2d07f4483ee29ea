import { afterEach, describe, expect, it } from "vitest";
import { createLightningStoreClient } from "../../src/client/client.ts";
import { AglError } from "../../src/errors.ts";
import { fakeTime, hang, type ScriptedServer, type Step, serveScript } from "./scripted-server.ts";

let server: ScriptedServer;
afterEach(() => server.close());

const done = (id: string) => ({ rollout_id: id, status: "succeeded" });
const ids = (body: unknown) => (body as { rollout_ids: string[] }).rollout_ids;

/** A store where rollout `id` is finished from `finishedAt[id]` on; `holds`: it heeds `Prefer: wait`. */
async function serveWaits(
  finishedAt: Record<string, number>,
  time: ReturnType<typeof fakeTime>,
  holds: boolean,
) {
  server = await serveScript(({ path, body, headers }): Step => {
    if (path === "/v1/agl/rollouts/search") {
      const asked = (body as { rollout_id_in: string[] }).rollout_id_in;
      return { json: { items: asked.filter((id) => id in finishedAt).map((id) => ({ rollout_id: id })) } };
    }
    const known = ids(body).filter((id) => id in finishedAt);
    const prefer = /^wait=(\d+)$/.exec(headers["prefer"] === undefined ? "" : String(headers["prefer"]));
    if (holds && prefer !== null) {
      const last = Math.max(...known.map((id) => finishedAt[id] ?? 0));
      time.advance(Math.max(0, Math.min(Number(prefer[1]) * 1_000, last - time.now())));
    }
    return { json: known.filter((id) => (finishedAt[id] ?? 0) <= time.now()).map(done) };
  });
  return createLightningStoreClient({ url: server.url, ...time });
}

describe("waitForRollouts", () => {
  it("waits for minutes in slices on a server that holds requests", async () => {
    const time = fakeTime();
    const store = await serveWaits({ a: 50_000, b: 190_000 }, time, true);
    expect(await store.waitForRollouts(["b", "a", "b"])).toEqual([done("b"), done("a"), done("b")]);
    expect(time.now()).toBe(190_000);
    expect(time.slept).toEqual([]);
    const waits = server.seen.filter(({ path }) => path === "/v1/agl/waits/rollouts");
    expect(waits.map(({ body }) => ids(body).length)).toEqual([2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
    expect(waits[0]?.body).toEqual({ rollout_ids: ["b", "a"], timeout: 0 });
    expect(waits[0]?.headers["prefer"]).toBe("wait=18");
  });

  it("polls a server that answers at once, at growing distances", async () => {
    const time = fakeTime();
    const store = await serveWaits({ a: 300_000, b: 100 }, time, false);
    expect(await store.waitForRollouts(["a", "b"])).toEqual([done("a"), done("b")]);
    expect(time.slept.slice(0, 4)).toEqual([50, 75, 112.5, 168.75]);
    expect(Math.max(...time.slept)).toBe(2_000);
    expect(time.now()).toBeLessThanOrEqual(302_000);
    // Every body asks for an answer at once: the Python server has few threads to wait in.
    for (const { path, body } of server.seen)
      if (path.includes("waits")) expect(body).toMatchObject({ timeout: 0 });
  });

  for (const holds of [true, false]) {
    describe(holds ? "held" : "polled", () => {
      it("gives what is finished when the time is over", async () => {
        const time = fakeTime();
        const store = await serveWaits({ a: 500, b: 1e9 }, time, holds);
        expect(await store.waitForRollouts(["b", "a"], { timeoutSeconds: 65 })).toEqual([done("a")]);
        expect(time.now()).toBeGreaterThanOrEqual(65_000);
        expect(time.now()).toBeLessThan(65_001);
      });

      it("asks once with a limit of 0 or less", async () => {
        for (const timeoutSeconds of [0, -1]) {
          const time = fakeTime();
          const store = await serveWaits({ a: 0, b: 1e9 }, time, holds);
          expect(await store.waitForRollouts(["b", "a"], { timeoutSeconds })).toEqual([done("a")]);
          expect(server.seen).toHaveLength(1);
          expect(server.seen[0]?.headers["prefer"]).toBeUndefined();
          if (timeoutSeconds === 0) await server.close();
        }
      });

      it("does not wait for ids that the store does not know", async () => {
        const time = fakeTime();
        const store = await serveWaits({ a: 0 }, time, holds);
        expect(await store.waitForRollouts(["x", "a", "y"])).toEqual([done("a")]);
        expect(time.slept).toEqual([]);
      });
    });
  }

  it("waits through an outage of the server", async () => {
    const time = fakeTime();
    let down = 4;
    server = await serveScript(() => (down-- > 0 ? { status: 503, json: {} } : { json: [done("a")] }));
    const store = createLightningStoreClient({ url: server.url, random: () => 1, ...time });
    expect(await store.waitForRollouts(["a"])).toEqual([done("a")]);
    expect(time.slept).toEqual([250, 500, 1_000, 2_000]);
  });

  it("resolves at once for no ids, refuses NaN and follows the signal", async () => {
    server = await serveScript([hang]);
    const store = createLightningStoreClient({ url: server.url });
    expect(await store.waitForRollouts([])).toEqual([]);
    await expect(store.waitForRollouts(["a"], { timeoutSeconds: Number.NaN })).rejects.toThrow(/NaN/);
    expect(server.seen).toEqual([]);
    const controller = new AbortController();
    const pending = store
      .waitForRollouts(["a"], { signal: controller.signal })
      .catch((error: unknown) => error);
    while (server.seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    const error = await pending;
    expect(AglError.is(error) && error.code).toBe("aborted");
  });
});
