/**
 * What the routes take and give, as zod schemas of the types in this folder. Servers only: agents never load zod.
 *
 * @module
 */
import * as z from "zod";
import type { JsonObject } from "./json.ts";
import { ATTEMPT_STATUSES, ROLLOUT_MODES, ROLLOUT_STATUSES, WORKER_STATUSES } from "./rollout.ts";

const text = z.string();
const textOrNull = z.string().nullable();
const number = z.number();
const numberOrNull = z.number().nullable();
const integer = z.int();

/** Any JSON object, handed on as it is: no copy of what may be large, and no key is special. */
const jsonObject = z
  .custom<JsonObject>((value) => typeof value === "object" && value !== null && !Array.isArray(value), {
    error: "Expected an object",
  })
  .meta({ type: "object", additionalProperties: true });

/** Any JSON value. The key may not be missing, which for zod only a check of the parent can tell. */
const json = z.custom<JsonObject[string]>((value) => value !== undefined, { error: "Required" });

const rolloutStatus = z.enum(ROLLOUT_STATUSES);
const attemptStatus = z.enum(ATTEMPT_STATUSES);
const rolloutMode = z.enum(ROLLOUT_MODES).nullable();

const RolloutConfig = z.object({
  timeout_seconds: numberOrNull.default(null),
  unresponsive_seconds: numberOrNull.default(null),
  max_attempts: integer.min(1).default(1),
  retry_condition: z.array(attemptStatus).default([]),
});

const Rollout = z.object({
  rollout_id: text,
  input: json,
  start_time: number,
  end_time: numberOrNull,
  mode: rolloutMode,
  resources_id: textOrNull,
  status: rolloutStatus,
  config: RolloutConfig,
  metadata: jsonObject.nullable(),
});

const Attempt = z.object({
  rollout_id: text,
  attempt_id: text,
  sequence_id: integer,
  start_time: number,
  end_time: numberOrNull,
  status: attemptStatus,
  worker_id: textOrNull,
  last_heartbeat_time: numberOrNull,
  metadata: jsonObject.nullable(),
});

const AttemptedRollout = Rollout.extend({ attempt: Attempt });
const AnyRollout = z.union([AttemptedRollout, Rollout]);

const Worker = z.object({
  worker_id: text,
  status: z.enum(WORKER_STATUSES),
  heartbeat_stats: jsonObject.nullable(),
  last_heartbeat_time: numberOrNull,
  last_dequeue_time: numberOrNull,
  last_busy_time: numberOrNull,
  last_idle_time: numberOrNull,
  current_rollout_id: textOrNull,
  current_attempt_id: textOrNull,
});

const endpoint = {
  endpoint: text,
  model: text,
  api_key: textOrNull.default(null),
  sampling_parameters: jsonObject.default(() => ({})),
};
const LLM = z.object({ resource_type: z.literal("llm"), ...endpoint });
const ProxyLLM = z.object({ resource_type: z.literal("proxy_llm"), ...endpoint });
const PromptTemplate = z.object({
  resource_type: z.literal("prompt_template"),
  template: text,
  engine: z.enum(["jinja", "f-string", "poml"]),
});
const NamedResources = z.record(text, z.discriminatedUnion("resource_type", [LLM, ProxyLLM, PromptTemplate]));
const ResourcesUpdate = z.object({
  resources_id: text,
  create_time: number,
  update_time: number,
  version: integer,
  resources: NamedResources,
});

const TraceStatus = z.looseObject({
  status_code: z.enum(["UNSET", "OK", "ERROR"]),
  description: textOrNull.default(null),
});
const SpanContext = z.looseObject({
  trace_id: text,
  span_id: text,
  is_remote: z.boolean(),
  trace_state: z.record(text, text),
});
const Event = z.looseObject({ name: text, attributes: jsonObject, timestamp: numberOrNull.default(null) });
const Link = z.looseObject({ context: SpanContext, attributes: jsonObject.nullable().default(null) });
const OtelResource = z.object({ attributes: jsonObject, schema_url: text });

const spanIds = { rollout_id: text, attempt_id: text, trace_id: text, span_id: text, name: text };
const Span = z.looseObject({
  ...spanIds,
  sequence_id: integer,
  parent_id: textOrNull,
  status: TraceStatus,
  attributes: jsonObject,
  events: z.array(Event),
  links: z.array(Link),
  start_time: numberOrNull,
  end_time: numberOrNull,
  context: SpanContext.nullable(),
  parent: SpanContext.nullable(),
  resource: OtelResource,
});
/** What a writer must give: ids and a name. Upstream asks for all 16 keys, most of which may be null. */
const SpanInput = z.looseObject({
  ...spanIds,
  sequence_id: integer.nullable().default(null),
  parent_id: textOrNull.default(null),
  status: TraceStatus.default(() => ({ status_code: "UNSET" as const, description: null })),
  attributes: jsonObject.default(() => ({})),
  events: z.array(Event).default([]),
  links: z.array(Link).default([]),
  start_time: numberOrNull.default(null),
  end_time: numberOrNull.default(null),
  context: SpanContext.nullable().default(null),
  parent: SpanContext.nullable().default(null),
  resource: OtelResource.default(() => ({ attributes: {}, schema_url: "" })),
});

const EnqueueRolloutRequest = z.object({
  input: json,
  mode: rolloutMode.optional(),
  resources_id: textOrNull.optional(),
  config: RolloutConfig.nullable().optional(),
  metadata: jsonObject.nullable().optional(),
});

const page = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), limit: integer, offset: integer, total: integer });
const paging = {
  limit: integer.default(-1),
  offset: integer.default(0),
  sort_order: z.enum(["asc", "desc"]).default("asc"),
};
const unsorted = { ...paging, sort_by: textOrNull.default(null) };
const bySequence = { ...paging, sort_by: textOrNull.default("sequence_id") };
const filter_logic = z.enum(["and", "or"]).default("and");
const filter = textOrNull.optional();

/** Schemas that are components of the OpenAPI document. */
export const COMPONENTS = {
  Attempt,
  AttemptedRollout,
  AnyRollout,
  Rollout,
  RolloutConfig,
  Worker,
  LLM,
  ProxyLLM,
  PromptTemplate,
  NamedResources,
  ResourcesUpdate,
  Event,
  Link,
  OtelResource,
  Span,
  SpanContext,
  SpanInput,
  TraceStatus,
  EnqueueRolloutRequest,
  EnqueueManyRolloutsRequest: z.object({ rollouts: z.array(EnqueueRolloutRequest) }),
  DequeueManyRolloutsRequest: z.object({ limit: integer.default(1), worker_id: filter }),
  RolloutRequest: EnqueueRolloutRequest.extend({ worker_id: filter }),
  StartAttemptRequest: z.object({ worker_id: filter }),
  UpdateRolloutRequest: z.object({
    input: json.optional(),
    mode: rolloutMode.optional(),
    resources_id: filter,
    status: rolloutStatus.nullable().optional(),
    config: RolloutConfig.nullable().optional(),
    metadata: jsonObject.nullable().optional(),
  }),
  UpdateAttemptRequest: z.object({
    status: attemptStatus.nullable().optional(),
    worker_id: filter,
    last_heartbeat_time: numberOrNull.optional(),
    metadata: jsonObject.nullable().optional(),
  }),
  UpdateWorkerRequest: z.object({ heartbeat_stats: jsonObject.nullable().optional() }),
  QueryRolloutsRequest: z.object({
    status_in: z.array(rolloutStatus).nullable().optional(),
    rollout_id_in: z.array(text).nullable().optional(),
    rollout_id_contains: filter,
    ...unsorted,
    filter_logic,
  }),
  QueryAttemptsRequest: z.object(bySequence),
  QueryWorkersRequest: z.object({
    status_in: z.array(z.enum(WORKER_STATUSES)).nullable().optional(),
    worker_id_contains: filter,
    ...unsorted,
    filter_logic,
  }),
  QueryResourcesRequest: z.object({ resources_id: filter, resources_id_contains: filter, ...unsorted }),
  QuerySpansRequest: z.object({
    rollout_id: text,
    attempt_id: filter,
    trace_id: filter,
    trace_id_contains: filter,
    span_id: filter,
    span_id_contains: filter,
    parent_id: filter,
    parent_id_contains: filter,
    name: filter,
    name_contains: filter,
    filter_logic,
    ...bySequence,
  }),
  WaitForRolloutsRequest: z.object({ rollout_ids: z.array(text), timeout: numberOrNull.default(null) }),
  NextSequenceIdRequest: z.object({ rollout_id: text, attempt_id: text }),
  NextSequenceIdResponse: z.object({ sequence_id: integer }),
  AddSpansRequest: z.object({ spans: z.array(SpanInput) }),
  EventsQuery: z.object({
    types: z.array(z.enum(["rollout", "attempt", "spans", "resources", "worker"])).optional(),
    rollout_id: z.array(text).optional(),
  }),
} as const;

/** Every schema that a route names: the components, and the lists, pages and alternatives made of them. */
export const SCHEMAS = {
  ...COMPONENTS,
  Rollouts: z.array(Rollout),
  AttemptedRollouts: z.array(AttemptedRollout),
  AttemptOrNull: Attempt.nullable(),
  WorkerOrNull: Worker.nullable(),
  ResourcesUpdateOrNull: ResourcesUpdate.nullable(),
  SpanOrNull: Span.nullable(),
  RolloutPage: page(AnyRollout),
  AttemptPage: page(Attempt),
  WorkerPage: page(Worker),
  ResourcesPage: page(ResourcesUpdate),
  SpanPage: page(Span),
  AddSpanResults: z.array(
    z.discriminatedUnion("status", [
      z.object({ status: z.literal("stored"), span: Span }),
      z.object({ status: z.literal("duplicate"), span: Span }),
      z.object({ status: z.literal("rejected"), reason: text }),
    ]),
  ),
} as const;

/** Name of a schema. */
export type SchemaName = keyof typeof SCHEMAS;

/** What a schema gives after parsing. A key that is missing is missing, never `undefined`: JSON has no such value. */
export type Parsed<N extends SchemaName> = Defined<z.output<(typeof SCHEMAS)[N]>>;

type Defined<T> = T extends readonly (infer U)[]
  ? Defined<U>[]
  : T extends object
    ? { [K in keyof T]: Exclude<T[K], undefined> }
    : T;

/** Fields by which the items of a page can be sorted. */
export const SORT_FIELDS = {
  QueryRolloutsRequest: Object.keys(Rollout.shape),
  QueryAttemptsRequest: Object.keys(Attempt.shape),
  QueryWorkersRequest: Object.keys(Worker.shape),
  QueryResourcesRequest: Object.keys(ResourcesUpdate.shape),
  QuerySpansRequest: Object.keys(Span.shape),
} as const satisfies Partial<Record<SchemaName, string[]>>;
