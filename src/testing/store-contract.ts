/**
 * The tests that every implementation of the store passes: engine, HTTP client, or one of your own.
 *
 * @module
 */
import { attemptContract } from "./store-contract/attempts.ts";
import type { ContractApi, OpenStore } from "./store-contract/harness.ts";
import { leaseContract } from "./store-contract/leases.ts";
import { queryContract } from "./store-contract/queries.ts";
import { resourceContract } from "./store-contract/resources.ts";
import { rolloutContract } from "./store-contract/rollouts.ts";
import { spanContract } from "./store-contract/spans.ts";
import { timeoutContract } from "./store-contract/timeouts.ts";
import { waitContract } from "./store-contract/waits.ts";
import { workerContract } from "./store-contract/workers.ts";

export type {
  ContractApi,
  ContractClock,
  ContractMatchers,
  OpenedStore,
  OpenStore,
} from "./store-contract/harness.ts";

/**
 * Defines the contract's tests for one implementation. Each test calls `open` for an empty store and closes it. Open it
 * with `scanDebounceSeconds: 0`, so that time-outs show at once; where the time cannot be set (`clock` undefined), the
 * tests that need it check nothing.
 *
 * @example
 * ```ts
 * import { openMemoryStore } from "agentlightning/store";
 * import { storeContract } from "agentlightning/testing";
 * import { describe, expect, it } from "vitest";
 *
 * storeContract(
 *   "memory",
 *   async () => {
 *     let now = 1_000;
 *     const store = await openMemoryStore({ now: () => now, scanDebounceSeconds: 0 });
 *     return { store, clock: { advance: (seconds) => void (now += seconds) }, close: () => store.close() };
 *   },
 *   { describe, it, expect },
 * );
 * ```
 */
export function storeContract(name: string, open: OpenStore, api: ContractApi): void {
  api.describe(`store contract: ${name}`, () => {
    rolloutContract(open, api);
    attemptContract(open, api);
    leaseContract(open, api);
    timeoutContract(open, api);
    workerContract(open, api);
    spanContract(open, api);
    queryContract(open, api);
    resourceContract(open, api);
    waitContract(open, api);
  });
}
