/**
 * Rules of an attempt. An attempt is a lease on its rollout: only the attempt that holds the lease moves the rollout,
 * and what arrives from any other is kept on the attempt's own row as evidence.
 *
 * @module
 */
import { AglError } from "../../errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { RolloutConfig, RolloutStatus } from "../../protocol/rollout.ts";
import type { AttemptPatch } from "../interface.ts";
import { type AttemptRow, copyJson, type RolloutHead } from "../rows.ts";
import {
  assertAttemptStatus,
  ENDED,
  FINISHED,
  lateReport,
  rolloutStatusOf,
  TAKES_ATTEMPT,
} from "./statuses.ts";

/** Key of an attempt's metadata under which a result that came after a time-out is kept: `{ status, time }`. */
export const LATE_RESULT = "agentlightning.late_result";

/** What an attempt's row becomes, and where the rollout goes (null: it stays). */
export interface AttemptMove {
  attempt: Partial<AttemptRow>;
  rollout: RolloutStatus | null;
}

/** A new attempt that follows `previous`. */
export function newAttempt(context: {
  rolloutId: string;
  attemptId: string;
  previous: AttemptRow | null;
  workerId: string | null;
  now: number;
}): AttemptRow {
  return {
    rollout_id: context.rolloutId,
    attempt_id: context.attemptId,
    sequence_id: (context.previous?.sequence_id ?? 0) + 1,
    start_time: context.now,
    end_time: null,
    status: "preparing",
    worker_id: context.workerId,
    last_heartbeat_time: null,
    metadata: null,
  };
}

/** Throws `conflict` when no attempt may be added to the rollout by hand. */
export function assertTakesAttempt(rollout: RolloutHead): void {
  if (TAKES_ATTEMPT[rollout.status]) return;
  throw new AglError(
    "conflict",
    `Rollout ${rollout.rollout_id} is ${rollout.status} and takes no further attempt; enqueue a new rollout instead`,
  );
}

/** What the claim of the next attempt changes of the one before: an unresponsive one can no longer come back. */
export function supersede(previous: AttemptRow, now: number): Partial<AttemptRow> | null {
  return previous.status === "unresponsive" && previous.end_time === null ? { end_time: now } : null;
}

/**
 * Whether the attempt still decides over its rollout. One that went silent keeps the lease while its retry waits in
 * the queue: a sign of life then takes the rollout back rather than running it twice.
 */
export function holdsLease(rollout: RolloutHead, attempt: AttemptRow): boolean {
  if (rollout.latest_attempt_id !== attempt.attempt_id) return false;
  if (rollout.status === "preparing" || rollout.status === "running") return true;
  return rollout.status === "requeuing" && attempt.status === "unresponsive" && attempt.end_time === null;
}

/** A sign of life by accepted spans. An attempt that has ended stays as it is; the heartbeat is recorded. */
export function spanArrived(rollout: RolloutHead, attempt: AttemptRow, now: number): AttemptMove {
  const changes: Partial<AttemptRow> = { last_heartbeat_time: now };
  if (attempt.status === "preparing" || attempt.status === "unresponsive") {
    changes.status = "running";
    if (attempt.end_time !== null) changes.end_time = null;
  }
  const revives = holdsLease(rollout, attempt) && !ENDED[attempt.status] && rollout.status !== "running";
  return { attempt: changes, rollout: revives ? "running" : null };
}

/** Applies a report on an attempt; throws `invalid_argument` for a bad value, `conflict` for a step back. */
export function patchAttempt(
  rollout: RolloutHead,
  attempt: AttemptRow,
  patch: AttemptPatch,
  now: number,
): AttemptMove {
  for (const key of ["status", "worker_id", "last_heartbeat_time", "metadata"] as const) {
    if (patch[key] === null) {
      throw new AglError("invalid_argument", `${key} is invalid; it cannot be a null value.`);
    }
  }
  const changes: Partial<AttemptRow> = {};
  if (patch.worker_id !== undefined) changes.worker_id = patch.worker_id;
  if (patch.last_heartbeat_time !== undefined) {
    if (typeof patch.last_heartbeat_time !== "number" || !Number.isFinite(patch.last_heartbeat_time)) {
      throw new AglError(
        "invalid_argument",
        `Invalid last_heartbeat_time: ${String(patch.last_heartbeat_time)}; give seconds since the epoch`,
      );
    }
    changes.last_heartbeat_time = patch.last_heartbeat_time;
  }
  if (patch.metadata !== undefined) changes.metadata = copyJson(patch.metadata);
  const status = patch.status;
  if (status === undefined) return { attempt: changes, rollout: null };
  assertAttemptStatus(status);

  if (ENDED[attempt.status] && status !== attempt.status) {
    if (lateReport(attempt.status, status) === "conflict") {
      throw new AglError(
        "conflict",
        `Attempt ${attempt.attempt_id} of rollout ${attempt.rollout_id} has ended as ${attempt.status} and cannot become ${status}; start a new attempt instead`,
      );
    }
    const metadata: JsonObject = changes.metadata ?? attempt.metadata ?? {};
    changes.metadata = { ...metadata, [LATE_RESULT]: { status, time: now } };
    return { attempt: changes, rollout: null };
  }

  const target = holdsLease(rollout, attempt)
    ? rolloutStatusOf(status, attempt.sequence_id, rollout.config)
    : null;
  if (status !== attempt.status) {
    changes.status = status;
    changes.end_time = endTime(status, target, now);
  }
  return { attempt: changes, rollout: target === rollout.status ? null : target };
}

// An unresponsive attempt whose retry waits may still come back, so it has not ended.
function endTime(status: AttemptRow["status"], rollout: RolloutStatus | null, now: number): number | null {
  if (ENDED[status]) return now;
  if (status !== "unresponsive") return null;
  return rollout !== null && !FINISHED[rollout] ? null : now;
}

/** Whether a rollout's policy has limits for the watchdog to watch. */
export function hasLimits(config: RolloutConfig): boolean {
  return config.timeout_seconds !== null || config.unresponsive_seconds !== null;
}

/** The limit that the current attempt of a running rollout has passed at `now`; null when it has passed none. */
export function overdue(
  rollout: RolloutHead,
  attempt: AttemptRow,
  now: number,
): "timeout" | "unresponsive" | null {
  if (rollout.status !== "preparing" && rollout.status !== "running") return null;
  const { timeout_seconds: timeout, unresponsive_seconds: silence } = rollout.config;
  if (ENDED[attempt.status]) return null;
  if (timeout !== null && now - attempt.start_time > timeout) return "timeout";
  if (silence !== null && now - (attempt.last_heartbeat_time ?? attempt.start_time) > silence) {
    return "unresponsive";
  }
  return null;
}
