import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWatchdog, openMemoryStore } from "../../src/store/index.ts";
import { claim, enqueue } from "../../src/testing/store-contract/harness.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("watchdog", () => {
  it("ends overdue attempts, and with them waits, when nobody calls the store", async () => {
    const store = await openMemoryStore({ now: () => Date.now() / 1000 });
    await enqueue(store, { config: { timeout_seconds: 30 } });
    const { rollout_id: id } = await claim(store);
    const waiting = store.waitForRollouts([id]);
    const watchdog = createWatchdog(store, { intervalSeconds: 7 });
    await vi.advanceTimersByTimeAsync(34_000);
    expect((await store.getLatestAttempt(id))?.status).toBe("preparing");
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await waiting).map(({ status }) => status)).toEqual(["failed"]);
    await watchdog.close();
    await store.close();
  });

  it("looks once at a time, and goes on after a failure", async () => {
    const answers: ((value: number) => void)[] = [];
    const checkTimeouts = vi.fn(() => new Promise<number>((resolve) => answers.push(resolve)));
    const errors: unknown[] = [];
    const watchdog = createWatchdog({ checkTimeouts }, { onError: (error) => errors.push(error) });
    await vi.advanceTimersByTimeAsync(5_000);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(checkTimeouts).toHaveBeenCalledTimes(1);
    answers[0]?.(0);
    checkTimeouts.mockRejectedValueOnce(new Error("locked"));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(errors).toEqual([new Error("locked")]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(checkTimeouts).toHaveBeenCalledTimes(3);
    const closed = watchdog.close();
    answers[1]?.(0);
    await closed;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(checkTimeouts).toHaveBeenCalledTimes(3);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("time-outs as part of other calls", () => {
  it("are looked for at most once in the debounce time", async () => {
    let now = 0;
    const store = await openMemoryStore({ now: () => now });
    await enqueue(store, { config: { timeout_seconds: 1 } });
    const { rollout_id: id } = await claim(store);
    now = 9.9;
    expect((await store.getRollout(id))?.status).toBe("preparing");
    now = 10;
    expect((await store.getRollout(id))?.status).toBe("failed");
    await store.close();
  });
});
