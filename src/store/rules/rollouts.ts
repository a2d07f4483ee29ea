/**
 * Rules of a rollout: how it is made, what may be changed by hand, and how its status moves.
 *
 * @module
 */
import { AglError } from "../../errors.ts";
import {
  type EnqueueRolloutRequest,
  ROLLOUT_MODES,
  type RolloutConfig,
  type RolloutStatus,
} from "../../protocol/rollout.ts";
import type { RolloutPatch } from "../interface.ts";
import { copyJson, type RolloutHead, type RolloutRow } from "../rows.ts";
import {
  assertAttemptStatus,
  assertOneOf,
  assertRolloutStatus,
  FINISHED,
  QUEUED,
  ROLLOUT_CHANGES,
} from "./statuses.ts";

/** Columns of a rollout that change together when its status moves. */
export type RolloutMove = Pick<RolloutRow, "status" | "end_time" | "queue_position">;

/**
 * Moves a rollout to `status`: it enters the queue at the tail (unless it waits already), leaves it, ends or reopens.
 * `tail` gives the place after the last in the queue, and is asked only when one is needed.
 */
export function moveRollout(
  rollout: RolloutHead,
  status: RolloutStatus,
  context: { now: number; tail: () => number },
): RolloutMove {
  return {
    status,
    end_time: FINISHED[status] ? context.now : null,
    queue_position: QUEUED[status] ? (rollout.queue_position ?? context.tail()) : null,
  };
}

/** Fills what is missing with the defaults (no limits, one attempt, no retries); throws `invalid_argument`. */
export function completeConfig(config: Partial<RolloutConfig> | null | undefined): RolloutConfig {
  const given = config ?? {};
  for (const key of ["timeout_seconds", "unresponsive_seconds"] as const) {
    const value = given[key] ?? null;
    if (value !== null && !(typeof value === "number" && Number.isFinite(value) && value >= 0)) {
      throw new AglError(
        "invalid_argument",
        `Invalid config.${key}: ${String(value)}; give seconds (0 or more) or null for no limit`,
      );
    }
  }
  const maxAttempts = given.max_attempts ?? 1;
  if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1) {
    throw new AglError(
      "invalid_argument",
      `Invalid config.max_attempts: ${String(maxAttempts)}; give a whole number of at least 1`,
    );
  }
  const retryCondition = given.retry_condition ?? [];
  if (!Array.isArray(retryCondition)) {
    throw new AglError("invalid_argument", "Invalid config.retry_condition: give a list of attempt statuses");
  }
  for (const status of retryCondition) assertAttemptStatus(status);
  return {
    timeout_seconds: given.timeout_seconds ?? null,
    unresponsive_seconds: given.unresponsive_seconds ?? null,
    max_attempts: maxAttempts,
    retry_condition: [...retryCondition],
  };
}

/** What a new rollout needs besides the request. */
export interface NewRolloutContext {
  rolloutId: string;
  now: number;
  /** Resources to bind when the request names none; they stay bound whatever is added later. */
  latestResourcesId: string | null;
  /** Its place in the queue; null for one that starts at once. */
  queuePosition: number | null;
}

/** A new rollout; throws `invalid_argument`. */
export function newRollout(request: EnqueueRolloutRequest, context: NewRolloutContext): RolloutRow {
  const mode = request.mode ?? null;
  if (mode !== null) assertOneOf(mode, ROLLOUT_MODES, "mode");
  return {
    rollout_id: context.rolloutId,
    input: copyJson(request.input),
    start_time: context.now,
    end_time: null,
    mode,
    resources_id: request.resources_id ?? context.latestResourcesId,
    status: context.queuePosition === null ? "preparing" : "queuing",
    config: completeConfig(request.config),
    metadata: copyJson(request.metadata ?? {}),
    queue_position: context.queuePosition,
    latest_attempt_id: null,
    extra: null,
  };
}

/**
 * What `patch` changes of a rollout: keys that are present, each replacing the whole value. Throws `invalid_argument`
 * for a bad value and `conflict` for a status that {@link ROLLOUT_CHANGES} does not allow.
 */
export function patchRollout(
  rollout: RolloutHead,
  patch: RolloutPatch,
  context: { now: number; tail: () => number },
): Partial<RolloutRow> {
  const changes: Partial<RolloutRow> = {};
  if (patch.input !== undefined) changes.input = copyJson(patch.input);
  if (patch.mode !== undefined) {
    if (patch.mode !== null) assertOneOf(patch.mode, ROLLOUT_MODES, "mode");
    changes.mode = patch.mode;
  }
  if (patch.resources_id !== undefined) changes.resources_id = patch.resources_id;
  if (patch.metadata !== undefined) changes.metadata = copyJson(patch.metadata);
  if (patch.config !== undefined) {
    if (patch.config === null) throw new AglError("invalid_argument", "Invalid config: it cannot be null");
    changes.config = completeConfig(patch.config);
  }
  if (patch.status === undefined) return changes;
  assertRolloutStatus(patch.status);
  if (patch.status === rollout.status) return changes;
  if (!ROLLOUT_CHANGES[rollout.status].includes(patch.status)) {
    throw new AglError(
      "conflict",
      `Rollout ${rollout.rollout_id} is ${rollout.status} and cannot become ${patch.status}; enqueue a new rollout instead`,
    );
  }
  return { ...changes, ...moveRollout(rollout, patch.status, context) };
}
