import { describe, expect, it } from "vitest";
import { createLightningStoreClient } from "../../src/client/index.ts";
import { serveStore } from "../../src/server/index.ts";
import { openMemoryStore } from "../../src/store/index.ts";
import { storeContract } from "../../src/testing/store-contract.ts";

storeContract(
  "client over HTTP",
  async () => {
    let now = 1_000;
    const server = await serveStore({
      store: await openMemoryStore({ now: () => now, scanDebounceSeconds: 0 }),
      port: 0,
    });
    const store = createLightningStoreClient({ url: server.url });
    return {
      store,
      clock: {
        advance(seconds) {
          now += seconds;
        },
      },
      async close() {
        await store.close();
        await server.close();
      },
    };
  },
  { describe, it, expect },
);
