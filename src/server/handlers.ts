/**
 * What each store route does with the store. Requests are checked before, results are written after.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import { storableAttributes } from "../protocol/otlp/attribute.ts";
import type { AttemptedRollout, EnqueueRolloutRequest, Rollout } from "../protocol/rollout.ts";
import type { ROUTES, Route, RouteName } from "../protocol/routes.ts";
import type { Parsed, SchemaName } from "../protocol/schemas.ts";
import type { AttemptPatch, LightningStore, RolloutPatch, SpanInput } from "../store/interface.ts";

/** Routes whose answer is not a JSON value made from the store alone. */
export type SpecialRoute = "events" | "otlpTraces" | "otlpMetrics" | "otlpLogs" | "otlpProfiles";
/** Routes that have a handler here. */
export type StoreRoute = Exclude<RouteName, SpecialRoute>;

type PathParameters<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameters<Rest>
  : never;
type BodyOf<R extends Route> = R extends { body: infer N extends SchemaName }
  ? Parsed<N> | (R extends { bodyOptional: true } ? null : never)
  : undefined;
type QueryOf<R extends Route> = R extends { query: infer N extends SchemaName } ? Parsed<N> : undefined;

/** One checked request of a route. */
export interface Call<N extends RouteName> {
  path: Record<PathParameters<(typeof ROUTES)[N]["path"]>, string>;
  query: QueryOf<(typeof ROUTES)[N]>;
  body: BodyOf<(typeof ROUTES)[N]>;
  /** Seconds that the client would wait for a fuller answer (`Prefer: wait`, RFC 7240). */
  waitSeconds: number | undefined;
  /** Fires when the client goes away or the server stops. */
  signal: AbortSignal;
}

/** Handlers by route. */
export type Handlers = { [N in StoreRoute]: (call: Call<N>) => Promise<unknown> };

/** The handlers of a store. */
export function createHandlers(store: LightningStore): Handlers {
  return {
    health: async () => ({ status: "ok" }),
    statistics: () => store.statistics(),

    enqueueRollouts: ({ body }) => store.enqueueRollouts(body.rollouts as EnqueueRolloutRequest[]),
    dequeueRollouts: ({ body }) => store.dequeueRollouts(body ?? {}),
    startRollout: ({ body }) => store.startRollout(body),
    queryRollouts: ({ query }) => store.queryRollouts(query),
    searchRollouts: ({ body }) => store.queryRollouts(body),
    getRollout: async ({ path }) => {
      const rollout = await store.getRollout(path.rollout_id);
      if (rollout !== null) return rollout;
      throw new AglError("not_found", `There is no rollout ${JSON.stringify(path.rollout_id)}.`);
    },
    updateRollout: async ({ path, body }) => {
      refuseNull(body, ["status", "config"]);
      return withoutAttempt(await store.updateRollout(path.rollout_id, body as RolloutPatch));
    },

    startAttempt: ({ path, body }) => store.startAttempt(path.rollout_id, body ?? {}),
    queryAttempts: ({ path, query }) => store.queryAttempts(path.rollout_id, query),
    searchAttempts: ({ path, body }) => store.queryAttempts(path.rollout_id, body),
    getLatestAttempt: ({ path }) => store.getLatestAttempt(path.rollout_id),
    updateAttempt: ({ path, body }) => {
      refuseNull(body, ["status", "worker_id", "last_heartbeat_time", "metadata"]);
      return store.updateAttempt(path.rollout_id, path.attempt_id, body as AttemptPatch);
    },
    waitForRollouts: async ({ body, waitSeconds, signal }) => {
      // Our client asks by header, because the Python server would block a thread for each id on the body's word.
      const options = { timeoutSeconds: waitSeconds ?? body.timeout, signal };
      return (await store.waitForRollouts(body.rollout_ids, options)).map(withoutAttempt);
    },

    queryWorkers: ({ query }) => store.queryWorkers(query),
    searchWorkers: ({ body }) => store.queryWorkers(body),
    getWorker: ({ path }) => store.getWorker(path.worker_id),
    updateWorker: ({ path, body }) => {
      refuseNull(body ?? {}, ["heartbeat_stats"]);
      const stats = body?.heartbeat_stats;
      return store.updateWorker(path.worker_id, stats ? { heartbeat_stats: stats } : {});
    },

    queryResources: ({ query }) => store.queryResources(query),
    addResources: ({ body }) => store.addResources(body),
    getLatestResources: () => store.getLatestResources(),
    getResources: ({ path }) => store.getResources(path.resources_id),
    updateResources: ({ path, body }) => store.updateResources(path.resources_id, body),

    addSpan: async ({ body }) => {
      const [result] = await store.addSpans([storableSpan(body as SpanInput)]);
      if (result?.status === "stored") return result.span;
      if (result?.status === "rejected") throw new AglError("not_found", result.reason);
      return null;
    },
    addSpans: ({ body }) => store.addSpans((body.spans as SpanInput[]).map(storableSpan)),
    querySpans: ({ query }) => store.querySpans(query),
    searchSpans: ({ body }) => store.querySpans(body),
    nextSequenceId: async ({ body }) => ({
      sequence_id: await store.nextSequenceId(body.rollout_id, body.attempt_id),
    }),
  };
}

/** Keys that may be left out, but not be null. */
function refuseNull(body: object, keys: readonly string[]): void {
  for (const key of keys) {
    if ((body as Record<string, unknown>)[key] === null) {
      throw new AglError("invalid_argument", `${key} cannot be null. Leave it out to keep it as it is.`, {
        status: 400,
      });
    }
  }
}

/** Two routes promise a rollout without its attempt. */
function withoutAttempt(rollout: Rollout | AttemptedRollout): Rollout {
  if (!("attempt" in rollout)) return rollout;
  const { attempt: _, ...rest } = rollout;
  return rest;
}

function storableSpan(span: SpanInput): SpanInput {
  return {
    ...span,
    attributes: storableAttributes(span.attributes),
    events: span.events.map((event) => ({ ...event, attributes: storableAttributes(event.attributes) })),
    links: span.links.map((link) => ({
      ...link,
      attributes: link.attributes && storableAttributes(link.attributes),
    })),
    resource: { ...span.resource, attributes: storableAttributes(span.resource.attributes) },
  };
}
