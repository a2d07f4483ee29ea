/**
 * The routes of the LightningStore contract (v0.3) as data: server, OpenAPI document and tests are made from it.
 *
 * @module
 */
import type { SchemaName } from "./schemas.ts";

/** One operation of the contract. */
export interface Route {
  method: "GET" | "POST";
  /** Path with `{parameter}` places. */
  path: string;
  /** Schema of the query string's parameters. */
  query?: SchemaName;
  /** Schema of the JSON body. */
  body?: SchemaName;
  /** True when the body may be left out or be `null`. */
  bodyOptional?: true;
  /** Schema of the successful answer; without it, any JSON object (or, for an OTLP signal, none). */
  reply?: SchemaName;
  /** Status of the successful answer; 200 by default. */
  status?: 201 | 501;
  /** True when no key is asked for. */
  open?: true;
  /** True when Python's server has no such route. */
  additive?: true;
}

/** Every operation by name. A fixed segment (`/search`, `/latest`) stands before the parameter that would match it. */
export const ROUTES = {
  health: { method: "GET", path: "/v1/agl/health", open: true },
  statistics: { method: "GET", path: "/v1/agl/statistics" },

  enqueueRollouts: {
    method: "POST",
    path: "/v1/agl/queues/rollouts/enqueue",
    body: "EnqueueManyRolloutsRequest",
    reply: "Rollouts",
    status: 201,
  },
  dequeueRollouts: {
    method: "POST",
    path: "/v1/agl/queues/rollouts/dequeue",
    body: "DequeueManyRolloutsRequest",
    bodyOptional: true,
    reply: "AttemptedRollouts",
  },
  startRollout: {
    method: "POST",
    path: "/v1/agl/rollouts",
    body: "RolloutRequest",
    reply: "AttemptedRollout",
    status: 201,
  },
  queryRollouts: {
    method: "GET",
    path: "/v1/agl/rollouts",
    query: "QueryRolloutsRequest",
    reply: "RolloutPage",
  },
  searchRollouts: {
    method: "POST",
    path: "/v1/agl/rollouts/search",
    body: "QueryRolloutsRequest",
    reply: "RolloutPage",
  },
  getRollout: { method: "GET", path: "/v1/agl/rollouts/{rollout_id}", reply: "AnyRollout" },
  updateRollout: {
    method: "POST",
    path: "/v1/agl/rollouts/{rollout_id}",
    body: "UpdateRolloutRequest",
    reply: "Rollout",
  },

  startAttempt: {
    method: "POST",
    path: "/v1/agl/rollouts/{rollout_id}/attempts",
    body: "StartAttemptRequest",
    bodyOptional: true,
    reply: "AttemptedRollout",
    status: 201,
  },
  queryAttempts: {
    method: "GET",
    path: "/v1/agl/rollouts/{rollout_id}/attempts",
    query: "QueryAttemptsRequest",
    reply: "AttemptPage",
  },
  searchAttempts: {
    method: "POST",
    path: "/v1/agl/rollouts/{rollout_id}/attempts/search",
    body: "QueryAttemptsRequest",
    reply: "AttemptPage",
  },
  getLatestAttempt: {
    method: "GET",
    path: "/v1/agl/rollouts/{rollout_id}/attempts/latest",
    reply: "AttemptOrNull",
  },
  updateAttempt: {
    method: "POST",
    path: "/v1/agl/rollouts/{rollout_id}/attempts/{attempt_id}",
    body: "UpdateAttemptRequest",
    reply: "Attempt",
  },
  waitForRollouts: {
    method: "POST",
    path: "/v1/agl/waits/rollouts",
    body: "WaitForRolloutsRequest",
    reply: "Rollouts",
  },

  queryWorkers: { method: "GET", path: "/v1/agl/workers", query: "QueryWorkersRequest", reply: "WorkerPage" },
  searchWorkers: {
    method: "POST",
    path: "/v1/agl/workers/search",
    body: "QueryWorkersRequest",
    reply: "WorkerPage",
  },
  getWorker: { method: "GET", path: "/v1/agl/workers/{worker_id}", reply: "WorkerOrNull" },
  updateWorker: {
    method: "POST",
    path: "/v1/agl/workers/{worker_id}",
    body: "UpdateWorkerRequest",
    bodyOptional: true,
    reply: "Worker",
  },

  queryResources: {
    method: "GET",
    path: "/v1/agl/resources",
    query: "QueryResourcesRequest",
    reply: "ResourcesPage",
  },
  addResources: {
    method: "POST",
    path: "/v1/agl/resources",
    body: "NamedResources",
    reply: "ResourcesUpdate",
    status: 201,
  },
  getLatestResources: { method: "GET", path: "/v1/agl/resources/latest", reply: "ResourcesUpdateOrNull" },
  getResources: { method: "GET", path: "/v1/agl/resources/{resources_id}", reply: "ResourcesUpdateOrNull" },
  updateResources: {
    method: "POST",
    path: "/v1/agl/resources/{resources_id}",
    body: "NamedResources",
    reply: "ResourcesUpdate",
  },

  addSpan: { method: "POST", path: "/v1/agl/spans", body: "SpanInput", reply: "SpanOrNull", status: 201 },
  addSpans: {
    method: "POST",
    path: "/v1/agl/spans/batch",
    body: "AddSpansRequest",
    reply: "AddSpanResults",
    additive: true,
  },
  querySpans: { method: "GET", path: "/v1/agl/spans", query: "QuerySpansRequest", reply: "SpanPage" },
  searchSpans: {
    method: "POST",
    path: "/v1/agl/spans/search",
    body: "QuerySpansRequest",
    reply: "SpanPage",
  },
  nextSequenceId: {
    method: "POST",
    path: "/v1/agl/spans/next",
    body: "NextSequenceIdRequest",
    reply: "NextSequenceIdResponse",
  },

  events: { method: "GET", path: "/v1/agl/events", query: "EventsQuery", additive: true },
  otlpTraces: { method: "POST", path: "/v1/traces" },
  otlpMetrics: { method: "POST", path: "/v1/metrics", status: 501 },
  otlpLogs: { method: "POST", path: "/v1/logs", status: 501 },
  otlpProfiles: { method: "POST", path: "/v1/development/profiles", status: 501 },
} as const satisfies Record<string, Route>;

/** Name of an operation. */
export type RouteName = keyof typeof ROUTES;
