/**
 * The Python package as the tests call it.
 *
 * @module
 */
import { inject } from "vitest";
import type { Json, JsonObject } from "../../src/protocol/json.ts";

/** A training step as the Python adapters make it. */
export interface Triplet {
  prompt: { token_ids: number[]; raw_content: Json; image_urls: string[] };
  response: { token_ids: number[]; raw_content: Json; logprobs?: Json };
  reward: number | null;
  metadata: {
    request: JsonObject | null;
    response: JsonObject | null;
    response_id: string | null;
    agent_name: string;
  };
}

/** An exception that Python code raised. */
export class PythonError extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(`${type}: ${message}`);
    this.type = type;
  }
}

async function call<T>(operation: string, args: object): Promise<T> {
  const response = await fetch(inject("bridgeUrl"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ operation, arguments: args }),
  });
  const body = (await response.json()) as { result: T } | { error: { type: string; message: string } };
  if ("error" in body) throw new PythonError(body.error.type, body.error.message);
  return body.result;
}

export const python = {
  /** Starts the Python store server; gives back its root URL. */
  serveStore: (options: { scan_debounce_seconds?: number } = {}) => call<string>("serve_store", options),
  stopStore: (url: string) => call<null>("stop_store", { url }),
  /** Calls a method of `LightningStoreClient`. */
  client: <T = Json>(url: string, method: string, args: object = {}) =>
    call<T>("client_call", { url, method, arguments: args }),
  clientMethods: () => call<string[]>("client_methods", {}),
  /** `TracerTraceToTriplet(**options)` over the spans of the rollout's latest attempt. */
  triplets: (url: string, rollout_id: string, options: object = {}) =>
    call<Triplet[]>("triplets", { url, rollout_id, options }),
  /** `TraceToMessages()` over the spans of the rollout's latest attempt. */
  messages: (url: string, rollout_id: string) =>
    call<{ messages: JsonObject[]; tools: JsonObject[] | null }[]>("messages", { url, rollout_id }),
  tree: (url: string, rollout_id: string) => call<[string, Json[]]>("tree", { url, rollout_id }),
  rewards: (url: string, rollout_id: string) =>
    call<{ each: { name: string; value: number }[][]; final: number | null }>("rewards", { url, rollout_id }),
  /** Lets the Python runner take `steps` tasks from the queue of the store at `url`. */
  runAgent: (url: string, agent: string, steps: number, worker_id = 0) =>
    call<null>("run_agent", { url, agent, steps, worker_id }),
};
