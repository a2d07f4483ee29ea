/**
 * The rows that the rules work on and that every backend keeps: what is on the wire, plus what only the store knows.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { ResourcesUpdate } from "../protocol/resources.ts";
import type { Attempt, AttemptedRollout, Rollout, Worker } from "../protocol/rollout.ts";
import type { Span } from "../protocol/span.ts";
import type { EncodedSpan } from "./interface.ts";

/**
 * What the v1.0 contract knows of a rollout and the v0.3 contract does not. A rollout that came over v0.3 has none
 * (null); the v1.0 states are derived from the status and are not kept.
 */
export interface RolloutExtra {
  is_train?: boolean;
  k8s_job_name?: string | null;
  error_message?: string | null;
  /** Rises with each change made over v1.0. */
  version?: number;
  /** Keys of the v1.0 configuration that have no place in `RolloutConfig` (`local`, `k8s`). */
  config?: JsonObject;
}

/** A rollout as it is kept. */
export interface RolloutRow extends Rollout {
  /** Place in the queue; null when it does not wait. Held exactly while the status is `queuing` or `requeuing`. */
  queue_position: number | null;
  /** The attempt that holds the lease, or held it last. */
  latest_attempt_id: string | null;
  extra: RolloutExtra | null;
}

/** A rollout without what may be large: enough for every rule, and cheap to read for each batch of spans. */
export type RolloutHead = Omit<RolloutRow, "input" | "metadata" | "extra">;

/** An attempt as it is kept. */
export type AttemptRow = Attempt;

/** Fields of a span that have a column. */
export type SpanColumns = Pick<Span, Exclude<keyof EncodedSpan, "content">>;

/** The other fields of a span: JSON, or an OTLP request in protobuf that holds this span alone. */
export type SpanContent = string | Uint8Array;

/** A span as it is kept. */
export interface SpanRow extends SpanColumns {
  content: SpanContent;
  /** The body of the v1.0 event that the span was made from, byte for byte; null for a span that came as a span. */
  event: string | null;
}

/** A version of resources as it is kept. */
export interface ResourcesRow extends ResourcesUpdate {
  /** Rises with each change to any set; the greatest is the latest set, whatever the clock did. */
  revision: number;
}

/** A worker as it is kept. */
export type WorkerRow = Worker;

/** The rollout as it is on the wire, without an attempt. */
export function toRollout(row: RolloutRow): Rollout {
  return {
    rollout_id: row.rollout_id,
    input: row.input,
    start_time: row.start_time,
    end_time: row.end_time,
    mode: row.mode,
    resources_id: row.resources_id,
    status: row.status,
    config: row.config,
    metadata: row.metadata,
  };
}

/** The rollout as it is on the wire, with its latest attempt when there is one. */
export function toAttemptedRollout(row: RolloutRow, attempt: AttemptRow | null): Rollout | AttemptedRollout {
  return attempt === null ? toRollout(row) : { ...toRollout(row), attempt };
}

/** The set as it is on the wire. */
export function toResources(row: ResourcesRow): ResourcesUpdate {
  return {
    resources_id: row.resources_id,
    create_time: row.create_time,
    update_time: row.update_time,
    version: row.version,
    resources: row.resources,
  };
}

/**
 * A copy of a JSON value that shares nothing with it; keys without a value are left out. Throws `invalid_argument` for
 * what JSON cannot hold (a circle, a BigInt).
 */
export function copyJson<T extends Json>(value: T): T {
  return value === undefined ? (null as T) : (JSON.parse(toJsonText(value)) as T);
}

/** `value` as JSON; throws `invalid_argument` for what JSON cannot hold. */
export function toJsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw new AglError("invalid_argument", `The store keeps JSON only: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
