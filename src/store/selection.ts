/**
 * Queries as values: a checked, backend-neutral form of what a caller asked for.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import type { ResourcesUpdate } from "../protocol/resources.ts";
import {
  type Attempt,
  ROLLOUT_STATUSES,
  type Rollout,
  WORKER_STATUSES,
  type Worker,
} from "../protocol/rollout.ts";
import type { Span } from "../protocol/span.ts";
import type {
  FilterLogic,
  PageQuery,
  ResourcesQuery,
  RolloutQuery,
  SpanQuery,
  WorkerQuery,
} from "./interface.ts";
import { assertOneOf } from "./rules/statuses.ts";

/**
 * How a field compares when it is sorted. A missing value counts as infinitely late in a `time`, and as the empty text
 * or 0 elsewhere. `json` fields have no order.
 */
export type FieldKind = "text" | "number" | "time" | "json";

/** One condition on a field. `contains` looks for a part of a text, case-sensitively; a missing value never matches. */
export type Condition =
  | { field: string; op: "exact" | "contains"; value: string }
  | { field: string; op: "within"; value: readonly string[] };

/** Which items, in which order, and which page of them. */
export interface Selection {
  /** Conditions that always hold. */
  must: readonly Condition[];
  /** Conditions that combine by `logic`; none: all items. */
  pool: readonly Condition[];
  logic: FilterLogic;
  /** Null: insertion order. Items that compare equal stay in insertion order, also in a descending sort. */
  sort: { field: string; kind: FieldKind; descending: boolean } | null;
  /** -1: no limit. */
  limit: number;
  offset: number;
}

const ROLLOUT_FIELDS: Record<keyof Rollout, FieldKind> = {
  rollout_id: "text",
  input: "json",
  start_time: "time",
  end_time: "time",
  mode: "text",
  resources_id: "text",
  status: "text",
  config: "json",
  metadata: "json",
};

const ATTEMPT_FIELDS: Record<keyof Attempt, FieldKind> = {
  rollout_id: "text",
  attempt_id: "text",
  sequence_id: "number",
  start_time: "time",
  end_time: "time",
  status: "text",
  worker_id: "text",
  last_heartbeat_time: "time",
  metadata: "json",
};

const SPAN_FIELDS: Record<keyof Span, FieldKind> = {
  rollout_id: "text",
  attempt_id: "text",
  sequence_id: "number",
  trace_id: "text",
  span_id: "text",
  parent_id: "text",
  name: "text",
  status: "json",
  attributes: "json",
  events: "json",
  links: "json",
  start_time: "time",
  end_time: "time",
  context: "json",
  parent: "json",
  resource: "json",
};

const WORKER_FIELDS: Record<keyof Worker, FieldKind> = {
  worker_id: "text",
  status: "text",
  heartbeat_stats: "json",
  last_heartbeat_time: "time",
  last_dequeue_time: "time",
  last_busy_time: "time",
  last_idle_time: "time",
  current_rollout_id: "text",
  current_attempt_id: "text",
};

const RESOURCES_FIELDS: Record<keyof ResourcesUpdate, FieldKind> = {
  resources_id: "text",
  create_time: "time",
  update_time: "time",
  version: "number",
  resources: "json",
};

/** Selection of rollouts. */
export function rolloutSelection(query: RolloutQuery): Selection {
  for (const status of query.status_in ?? []) assertOneOf(status, ROLLOUT_STATUSES, "status_in");
  return select(query, ROLLOUT_FIELDS, null, [
    ...within("status", query.status_in),
    ...within("rollout_id", query.rollout_id_in),
    ...contains("rollout_id", query.rollout_id_contains),
  ]);
}

/** Selection of the attempts of a rollout, by their number unless told otherwise. */
export function attemptSelection(rolloutId: string, query: PageQuery): Selection {
  return select(query, ATTEMPT_FIELDS, "sequence_id", [], exact("rollout_id", rolloutId));
}

/** Selection of the spans of a rollout, by `sequence_id` unless told otherwise; `attemptId` null: of all attempts. */
export function spanSelection(query: SpanQuery, attemptId: string | null): Selection {
  return select(
    query,
    SPAN_FIELDS,
    "sequence_id",
    (["trace_id", "span_id", "parent_id", "name"] as const).flatMap((field) => [
      ...exact(field, query[field]),
      ...contains(field, query[`${field}_contains`]),
    ]),
    [...exact("rollout_id", query.rollout_id), ...exact("attempt_id", attemptId)],
  );
}

/** Selection of workers. */
export function workerSelection(query: WorkerQuery): Selection {
  for (const status of query.status_in ?? []) assertOneOf(status, WORKER_STATUSES, "status_in");
  return select(query, WORKER_FIELDS, null, [
    ...within("status", query.status_in),
    ...contains("worker_id", query.worker_id_contains),
  ]);
}

/** Selection of resources. */
export function resourcesSelection(query: ResourcesQuery): Selection {
  return select(query, RESOURCES_FIELDS, null, [
    ...exact("resources_id", query.resources_id),
    ...contains("resources_id", query.resources_id_contains),
  ]);
}

function select(
  query: PageQuery & { filter_logic?: FilterLogic },
  fields: Readonly<Record<string, FieldKind>>,
  defaultSort: string | null,
  pool: Condition[],
  must: Condition[] = [],
): Selection {
  const logic = query.filter_logic ?? "and";
  assertOneOf(logic, ["and", "or"], "filter_logic");
  const order = query.sort_order ?? "asc";
  assertOneOf(order, ["asc", "desc"], "sort_order");
  const limit = query.limit ?? -1;
  if (!Number.isSafeInteger(limit) || limit === 0 || limit < -1) {
    throw new AglError("invalid_argument", `Invalid limit: ${limit}; give 1 or more, or -1 for no limit`);
  }
  const offset = query.offset ?? 0;
  if (!Number.isSafeInteger(offset) || offset < 0) {
    throw new AglError("invalid_argument", `Invalid offset: ${offset}; give 0 or more`);
  }
  const field = query.sort_by === undefined ? defaultSort : query.sort_by;
  const kind = field === null ? undefined : Object.hasOwn(fields, field) ? fields[field] : "json";
  if (kind === "json") {
    const sortable = Object.keys(fields).filter((name) => fields[name] !== "json");
    throw new AglError(
      "invalid_argument",
      `Invalid sort_by: ${field}, allowed fields are: ${sortable.join(", ")}`,
    );
  }
  const sort = field === null || kind === undefined ? null : { field, kind, descending: order === "desc" };
  return { must, pool, logic, sort, limit, offset };
}

function exact(field: string, value: string | null | undefined): Condition[] {
  return value === null || value === undefined ? [] : [{ field, op: "exact", value }];
}

function contains(field: string, value: string | null | undefined): Condition[] {
  return value === null || value === undefined ? [] : [{ field, op: "contains", value }];
}

function within(field: string, value: readonly string[] | null | undefined): Condition[] {
  return value === null || value === undefined ? [] : [{ field, op: "within", value }];
}
