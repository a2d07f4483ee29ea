import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type LocalStore, openMemoryStore, openSqliteStore, type StoreEvent } from "../../src/store/index.ts";
import { claim, enqueue, sampleSpan } from "../../src/testing/store-contract/harness.ts";

const stores = {
  memory: () => openMemoryStore({ scanDebounceSeconds: 0 }),
  SQLite: () => openSqliteStore({ path: ":memory:", scanDebounceSeconds: 0 }),
};

const brief = (event: StoreEvent): string => {
  switch (event.type) {
    case "rollout":
      return `rollout ${event.rollout.status}${"attempt" in event.rollout ? ` #${event.rollout.attempt.sequence_id}` : ""}`;
    case "attempt":
      return `attempt ${event.attempt.status}`;
    case "spans":
      return `spans ${event.count}`;
    case "resources":
      return `resources v${event.resources.version}`;
    case "worker":
      return `worker ${event.worker.status}`;
  }
};

for (const [name, open] of Object.entries(stores)) {
  describe(`feed of ${name}`, () => {
    let store: LocalStore;
    let events: string[];
    beforeEach(async () => {
      store = await open();
      events = [];
    });
    afterEach(() => store.close());
    const take = (): string[] => events.splice(0);

    it("tells each change once, as it is after the whole call", async () => {
      store.subscribe((event) => events.push(brief(event)));
      await store.enqueueRollouts([{ input: 1 }, { input: 2 }]);
      expect(take()).toEqual(["rollout queuing", "rollout queuing"]);
      const { rollout_id: id, attempt } = await claim(store, "w");
      expect(take()).toEqual(["rollout preparing #1", "attempt preparing", "worker busy"]);
      await store.addSpans([sampleSpan(attempt, 1), sampleSpan(attempt, 2), sampleSpan(attempt, 2)]);
      expect(take()).toEqual(["rollout running #1", "attempt running", "spans 2"]);
      await store.addSpans([sampleSpan(attempt, 3)]);
      expect(take()).toEqual(["attempt running", "spans 1"]);
      await store.updateAttempt(id, "latest", { status: "succeeded" });
      expect(take()).toEqual(["rollout succeeded #1", "attempt succeeded", "worker idle"]);
      await store.updateAttempt(id, "latest", { status: "succeeded" });
      await store.addResources({});
      await store.updateWorker("w");
      expect(take()).toEqual(["worker idle", "resources v1", "worker idle"]);
    });

    it("tells nothing of what only reads, and nothing of what fails", async () => {
      const { rollout_id: id } = await enqueue(store);
      store.subscribe((event) => events.push(brief(event)));
      await store.queryRollouts();
      await store.getRollout(id);
      await store.dequeueRollouts({ limit: 0 });
      await store.addSpans([sampleSpan({ rollout_id: id, attempt_id: "at-unknown" }, 1)]);
      await store.updateAttempt(id, "latest", {}).catch(() => {});
      await store.updateRollout(id, {});
      expect(take()).toEqual([]);
    });

    it("tells of time-outs", async () => {
      await store.close();
      let now = 0;
      const options = { now: () => now, scanDebounceSeconds: 1e9 };
      store = await (name === "memory"
        ? openMemoryStore(options)
        : openSqliteStore({ path: ":memory:", ...options }));
      await enqueue(store, { config: { timeout_seconds: 1 } });
      await claim(store, "w");
      store.subscribe((event) => events.push(brief(event)));
      now += 2;
      expect(await store.checkTimeouts()).toBe(1);
      expect(take()).toEqual(["rollout failed #1", "attempt timeout", "worker unknown"]);
      expect(await store.checkTimeouts()).toBe(0);
      expect(take()).toEqual([]);
    });

    it("ends for the listener that is done, and for no other", async () => {
      const listener = vi.fn();
      const end = store.subscribe(listener);
      const endAgain = store.subscribe(listener);
      await enqueue(store);
      expect(listener).toHaveBeenCalledTimes(2);
      end();
      end();
      await enqueue(store);
      expect(listener).toHaveBeenCalledTimes(3);
      endAgain();
      await enqueue(store);
      expect(listener).toHaveBeenCalledTimes(3);
    });

    it("gives out values that do not reach the store", async () => {
      store.subscribe((event) => {
        if (event.type === "rollout") (event.rollout.input as { task: string }).task = "changed";
      });
      const { rollout_id: id } = await enqueue(store);
      expect((await store.getRollout(id))?.input).toEqual({ task: "add" });
    });

    it("keeps a listener that throws away from the caller and the other listeners", async () => {
      const raised: unknown[] = [];
      const others = process.listeners("uncaughtException");
      process.removeAllListeners("uncaughtException");
      const surfaced = new Promise<void>((resolve) => {
        process.once("uncaughtException", (error) => {
          raised.push(error);
          resolve();
        });
      });
      try {
        store.subscribe(() => {
          throw new Error("listener");
        });
        store.subscribe((event) => events.push(brief(event)));
        expect((await enqueue(store)).status).toBe("queuing");
        await surfaced;
      } finally {
        for (const other of others) process.on("uncaughtException", other);
      }
      expect(take()).toEqual(["rollout queuing"]);
      expect(raised).toEqual([new Error("listener")]);
    });
  });
}
