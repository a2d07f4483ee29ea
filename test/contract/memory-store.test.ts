import { describe, expect, it } from "vitest";
import { openMemoryStore } from "../../src/store/index.ts";
import { storeContract } from "../../src/testing/store-contract.ts";

storeContract(
  "memory",
  async () => {
    let now = 1_000;
    const store = await openMemoryStore({ now: () => now, scanDebounceSeconds: 0 });
    return {
      store,
      clock: {
        advance(seconds) {
          now += seconds;
        },
      },
      close: () => store.close(),
    };
  },
  { describe, it, expect },
);
