import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/store/index.ts";
import { storeContract } from "../../src/testing/store-contract.ts";

storeContract(
  "SQLite",
  async () => {
    let now = 1_000;
    const folder = await mkdtemp(join(tmpdir(), "agl-store-"));
    const store = await openSqliteStore({
      path: join(folder, "store.db"),
      now: () => now,
      scanDebounceSeconds: 0,
    });
    return {
      store,
      clock: {
        advance(seconds) {
          now += seconds;
        },
      },
      async close() {
        await store.close();
        await rm(folder, { recursive: true });
      },
    };
  },
  { describe, it, expect },
);
