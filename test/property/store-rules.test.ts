import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  type EngineOptions,
  type LocalStore,
  openMemoryStore,
  openSqliteStore,
} from "../../src/store/index.ts";
import { times } from "../times.ts";
import { type Real, storeCommands } from "./store-commands.ts";
import { StoreModel } from "./store-model.ts";

const NAMES = ["rollout", "attempt", "resources"] as const;

/** The same ids in the same order for every store, so that their answers can be compared whole. */
function counted(): EngineOptions["ids"] & object {
  let count = 0;
  return Object.fromEntries(NAMES.map((name) => [name, () => `${name}-${String(++count).padStart(4, "0")}`]));
}

it("every store does what the model does, whatever is called", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agl-property-"));
  let run = 0;
  try {
    await fc.assert(
      fc.asyncProperty(fc.commands(storeCommands, { maxCommands: 60, size: "+2" }), async (commands) => {
        const path = join(folder, `${++run}.db`);
        let now = 0;
        const options = { now: () => now, scanDebounceSeconds: 0 };
        const sqlite = { ...options, path, ids: counted() };
        const memory = await openMemoryStore({ ...options, ids: counted() });
        let file: LocalStore = await openSqliteStore(sqlite);
        const real: Real = {
          stores: () => [memory, file],
          async reopen() {
            await file.close();
            file = await openSqliteStore(sqlite);
          },
          advance(seconds) {
            now += seconds;
          },
        };
        const model = new StoreModel();
        try {
          await fc.asyncModelRun(() => ({ model, real }), commands);
          // The rest of the queue, in order, and nothing twice.
          const waiting = model.queue.map(({ id }) => id);
          for (const store of real.stores()) {
            const rest = await store.dequeueRollouts({ limit: 1_000 });
            expect(rest.map(({ rollout_id }) => rollout_id)).toEqual(waiting);
            expect(await store.dequeueRollouts({ limit: 1_000 })).toEqual([]);
          }
        } finally {
          await memory.close();
          await file.close();
        }
      }),
      times(60),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});
