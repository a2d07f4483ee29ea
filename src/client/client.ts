/**
 * The LightningStore over HTTP: our server's and the Python package's (0.3).
 *
 * @module
 */
import { AglError } from "../errors.ts";
import type { LightningStore } from "../store/interface.ts";
import { createAddSpans } from "./add-spans.ts";
import { createTransport, type Transport, type TransportOptions } from "./request.ts";
import { waitForRollouts } from "./wait.ts";

/** Options of {@link createLightningStoreClient}. */
export interface LightningStoreClientOptions extends TransportOptions {
  /** Ends every call of the client with `aborted` when it fires. */
  signal?: AbortSignal | undefined;
}

/** A LightningStore that is reached over HTTP. */
export interface LightningStoreClient extends LightningStore {
  /** Root of the store, without a slash at its end. */
  readonly url: string;
  /** The same client, connections and all, whose calls end with `aborted` when `signal` fires. */
  withSignal(signal: AbortSignal): LightningStoreClient;
}

/** An id as one segment of a path. */
function segment(what: string, id: string): string {
  // A URL parser takes "." and ".." for steps, even when they are escaped.
  if (typeof id !== "string" || id === "" || id === "." || id === "..") {
    throw new AglError("invalid_argument", `${what} must be the id of one, not ${JSON.stringify(id)}.`);
  }
  return encodeURIComponent(id);
}

/** `null` where the store knows no such thing. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (AglError.is(error) && error.code === "not_found") return null;
    throw error;
  }
}

/**
 * The Python server has no answer for an unknown rollout: it fails to put `null` into the shape that it promises.
 */
async function orNullFromPython<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await orNull(answer);
  } catch (error) {
    if (AglError.is(error) && error.status === 500 && error.message.includes("ResponseValidationError"))
      return null;
    throw error;
  }
}

function queryString(query: object): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) params.set(name, String(value));
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

function createView(
  transport: Transport,
  addSpans: ReturnType<typeof createAddSpans>,
  signal?: AbortSignal,
): LightningStoreClient {
  // The caller names the type: what the server sends is not checked here a second time.
  const get = <T>(path: string) =>
    transport.send({ method: "GET", path, repeatable: true, signal }) as Promise<T>;
  /** A POST that can arrive twice: a search, or a change that says what shall be. */
  const put = <T>(path: string, body: unknown) =>
    transport.send({ method: "POST", path, body, repeatable: true, signal }) as Promise<T>;
  /** A POST that makes or takes something new each time it arrives. */
  const once = <T>(path: string, body: unknown) =>
    transport.send({ method: "POST", path, body, repeatable: false, signal }) as Promise<T>;
  const rollout = (id: string) => `/rollouts/${segment("rolloutId", id)}`;
  const resources = (id: string) => `/resources/${segment("resourcesId", id)}`;
  const worker = (id: string) => `/workers/${segment("workerId", id)}`;

  return {
    url: transport.url,
    withSignal: (other) =>
      createView(transport, addSpans, signal === undefined ? other : AbortSignal.any([signal, other])),
    enqueueRollouts: async (requests) =>
      requests.length === 0 ? [] : once("/queues/rollouts/enqueue", { rollouts: requests }),
    dequeueRollouts: async (options = {}) =>
      once("/queues/rollouts/dequeue", { limit: options.limit ?? 1, worker_id: options.worker_id ?? null }),
    startRollout: async (request) => once("/rollouts", request),
    startAttempt: async (rolloutId, options = {}) =>
      once(`${rollout(rolloutId)}/attempts`, { worker_id: options.worker_id ?? null }),
    queryRollouts: async (query = {}) => put("/rollouts/search", query),
    getRollout: async (rolloutId) => orNullFromPython(get(rollout(rolloutId))),
    updateRollout: async (rolloutId, patch) => put(rollout(rolloutId), patch),
    queryAttempts: async (rolloutId, query = {}) => put(`${rollout(rolloutId)}/attempts/search`, query),
    getLatestAttempt: async (rolloutId) => orNull(get(`${rollout(rolloutId)}/attempts/latest`)),
    updateAttempt: async (rolloutId, attemptId, patch) => {
      const path = `${rollout(rolloutId)}/attempts/${segment("attemptId", attemptId)}`;
      // "latest" can be another attempt by the time that a second request arrives.
      return attemptId === "latest" ? once(path, patch) : put(path, patch);
    },
    addSpans: (spans) => addSpans(spans, signal),
    nextSequenceId: async (rolloutId, attemptId) => {
      const body = { rollout_id: rolloutId, attempt_id: attemptId };
      return (await once<{ sequence_id: number }>("/spans/next", body)).sequence_id;
    },
    querySpans: async (query) => put("/spans/search", query),
    waitForRollouts: (rolloutIds, options = {}) => {
      const signals = [signal, options.signal].filter((each) => each !== undefined);
      return waitForRollouts(transport, rolloutIds, {
        timeoutSeconds: options.timeoutSeconds ?? null,
        signal: signals.length > 1 ? AbortSignal.any(signals) : signals[0],
      });
    },
    addResources: async (named) => once("/resources", named),
    updateResources: async (resourcesId, named) => once(resources(resourcesId), named),
    queryResources: async (query = {}) => get(`/resources${queryString(query)}`),
    getResources: async (resourcesId) => orNull(get(resources(resourcesId))),
    getLatestResources: async () => orNull(get("/resources/latest")),
    queryWorkers: async (query = {}) => put("/workers/search", query),
    getWorker: async (workerId) => orNull(get(worker(workerId))),
    updateWorker: async (workerId, patch = {}) => put(worker(workerId), patch),
    statistics: async () => get("/statistics"),
    close: async () => transport.close(),
  };
}

/**
 * Makes a client of the LightningStore at `options.url`.
 *
 * What can arrive twice without harm (reads, updates, spans) is sent again after a broken connection, a time-out or a
 * status that may pass, with random growing delays, `Retry-After` and a budget. What cannot (enqueue, dequeue, start,
 * resources, sequence ids) is sent again only when it did not reach the server, or when the server refused to take it
 * (425, 429, 503 with `Retry-After`). A span that was sent again may be reported as `duplicate`.
 *
 * Methods reject as {@link LightningStore} says, and with `unavailable` or `timeout` when the server cannot be reached,
 * `unauthorized` for a wrong key, `unsupported` when no LightningStore answers, `aborted` when the signal fires.
 *
 * @example
 * ```ts
 * import { createLightningStoreClient } from "agentlightning/client";
 *
 * const store = createLightningStoreClient({ url: "http://127.0.0.1:4747" });
 * const [rollout] = await store.enqueueRollouts([{ input: { question: "6 * 7" }, mode: "train" }]);
 * const [done] = await store.waitForRollouts([rollout!.rollout_id], { timeoutSeconds: 600 });
 * ```
 */
export function createLightningStoreClient(options: LightningStoreClientOptions): LightningStoreClient {
  const transport = createTransport(options);
  return createView(transport, createAddSpans(transport), options.signal);
}
