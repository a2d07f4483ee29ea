/**
 * Typed clients of a LightningStore, for programs that enqueue tasks, claim them, or read traces.
 *
 * @module
 */
export type * from "../protocol/json.ts";
export type * from "../protocol/resources.ts";
export type * from "../protocol/rollout.ts";
export type * from "../protocol/span.ts";
export type * from "../store/interface.ts";
export {
  createLightningStoreClient,
  type LightningStoreClient,
  type LightningStoreClientOptions,
} from "./client.ts";
export type { RetryPolicy, TransportOptions } from "./request.ts";
