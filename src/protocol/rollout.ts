/**
 * Rollouts, attempts and workers as they are on the wire (field names are upstream's). Times are seconds since the
 * epoch as floats.
 *
 * @module
 */
import type { Json, JsonObject } from "./json.ts";

/** States of a rollout. `failed`, `succeeded` and `cancelled` are final; `queuing` and `requeuing` wait in the queue. */
export const ROLLOUT_STATUSES = [
  "queuing",
  "preparing",
  "running",
  "failed",
  "succeeded",
  "cancelled",
  "requeuing",
] as const;
/** One of {@link ROLLOUT_STATUSES}. */
export type RolloutStatus = (typeof ROLLOUT_STATUSES)[number];

/** States of an attempt. `preparing`, `running` and `unresponsive` are open; the others are final. */
export const ATTEMPT_STATUSES = [
  "preparing",
  "running",
  "failed",
  "succeeded",
  "unresponsive",
  "timeout",
] as const;
/** One of {@link ATTEMPT_STATUSES}. */
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

/** Modes of a rollout. */
export const ROLLOUT_MODES = ["train", "val", "test"] as const;
/** What a rollout is for. */
export type RolloutMode = (typeof ROLLOUT_MODES)[number];

/** States of a worker. */
export const WORKER_STATUSES = ["idle", "busy", "unknown"] as const;
/** One of {@link WORKER_STATUSES}. */
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

/** Limits and retry policy of one rollout. */
export interface RolloutConfig {
  /** Seconds an attempt may take in all; null: no limit. */
  timeout_seconds: number | null;
  /** Seconds without a span or heartbeat after which an attempt is `unresponsive`; null: no limit. */
  unresponsive_seconds: number | null;
  /** Attempts in all, the first included; at least 1. */
  max_attempts: number;
  /** Attempt states that lead to another attempt. */
  retry_condition: AttemptStatus[];
}

/** One execution of a rollout. */
export interface Attempt {
  rollout_id: string;
  attempt_id: string;
  /** 1 for the first attempt of the rollout. */
  sequence_id: number;
  start_time: number;
  end_time: number | null;
  status: AttemptStatus;
  worker_id: string | null;
  last_heartbeat_time: number | null;
  metadata: JsonObject | null;
}

/** A task and where its execution stands. */
export interface Rollout {
  rollout_id: string;
  input: Json;
  start_time: number;
  end_time: number | null;
  mode: RolloutMode | null;
  resources_id: string | null;
  status: RolloutStatus;
  config: RolloutConfig;
  metadata: JsonObject | null;
}

/** A rollout with its latest attempt. */
export interface AttemptedRollout extends Rollout {
  attempt: Attempt;
}

/** What is asked for when a rollout is enqueued or started. */
export interface EnqueueRolloutRequest {
  /** The task: any JSON value. */
  input: Json;
  mode?: RolloutMode | null;
  /** Resources to run with; by default the latest at the time of the call. */
  resources_id?: string | null;
  /** Limits and retries; missing fields take their defaults (no limits, one attempt). */
  config?: Partial<RolloutConfig> | null;
  metadata?: JsonObject | null;
}

/** A process that claims rollouts. */
export interface Worker {
  worker_id: string;
  status: WorkerStatus;
  heartbeat_stats: JsonObject | null;
  last_heartbeat_time: number | null;
  last_dequeue_time: number | null;
  last_busy_time: number | null;
  last_idle_time: number | null;
  current_rollout_id: string | null;
  current_attempt_id: string | null;
}

/** One page of a query. */
export interface Page<T> {
  items: T[];
  /** The limit that was asked for; -1: all. */
  limit: number;
  offset: number;
  /** Matches in all, before paging. */
  total: number;
}
