/**
 * The two state machines as data: which states wait, run and end, and which changes may be asked for.
 *
 * @module
 */
import { AglError } from "../../errors.ts";
import {
  ATTEMPT_STATUSES,
  type AttemptStatus,
  ROLLOUT_STATUSES,
  type RolloutConfig,
  type RolloutStatus,
} from "../../protocol/rollout.ts";

/** Whether a rollout in this state waits in the queue. */
export const QUEUED: Readonly<Record<RolloutStatus, boolean>> = {
  queuing: true,
  requeuing: true,
  preparing: false,
  running: false,
  succeeded: false,
  failed: false,
  cancelled: false,
};

/** Whether a rollout in this state is finished, which is what a wait waits for. */
export const FINISHED: Readonly<Record<RolloutStatus, boolean>> = {
  queuing: false,
  requeuing: false,
  preparing: false,
  running: false,
  succeeded: true,
  failed: true,
  cancelled: true,
};

const OPEN: readonly RolloutStatus[] = ROLLOUT_STATUSES;
// A finished rollout can be run again when that is asked for by name; nothing reopens what was cancelled.
const REOPEN: readonly RolloutStatus[] = ["queuing", "requeuing"];

/** Which states a caller may set by hand, from each state; staying is always allowed. */
export const ROLLOUT_CHANGES: Readonly<Record<RolloutStatus, readonly RolloutStatus[]>> = {
  queuing: OPEN,
  requeuing: OPEN,
  preparing: OPEN,
  running: OPEN,
  succeeded: REOPEN,
  failed: REOPEN,
  cancelled: [],
};

/** Whether a rollout in this state takes another attempt by hand. */
export const TAKES_ATTEMPT: Readonly<Record<RolloutStatus, boolean>> = {
  queuing: true,
  requeuing: true,
  preparing: true,
  running: true,
  succeeded: true,
  failed: true,
  cancelled: false,
};

/** Whether an attempt in this state has ended for good. */
export const ENDED: Readonly<Record<AttemptStatus, boolean>> = {
  preparing: false,
  running: false,
  unresponsive: false,
  failed: true,
  succeeded: true,
  timeout: true,
};

/** What an ended attempt makes of a report that names another state. */
export type LateReport = "conflict" | "evidence";

/**
 * What becomes of a report on an attempt that has ended, by the state it ended in and the state reported. Only the
 * store itself ends an attempt as `timeout`; its runner may not know, and what it found out is worth keeping.
 */
export function lateReport(ended: AttemptStatus, reported: AttemptStatus): LateReport {
  return ended === "timeout" && (reported === "succeeded" || reported === "failed") ? "evidence" : "conflict";
}

/** What an attempt's state means for its rollout, given the attempt's number and the rollout's policy. */
export function rolloutStatusOf(
  status: AttemptStatus,
  sequenceId: number,
  config: RolloutConfig,
): RolloutStatus {
  if (status === "preparing" || status === "running" || status === "succeeded") return status;
  return config.retry_condition.includes(status) && sequenceId < config.max_attempts ? "requeuing" : "failed";
}

/** Throws `invalid_argument` unless `status` is a rollout's. */
export function assertRolloutStatus(status: unknown): asserts status is RolloutStatus {
  assertOneOf(status, ROLLOUT_STATUSES, "rollout status");
}

/** Throws `invalid_argument` unless `status` is an attempt's. */
export function assertAttemptStatus(status: unknown): asserts status is AttemptStatus {
  assertOneOf(status, ATTEMPT_STATUSES, "attempt status");
}

/** Throws `invalid_argument`, naming what is allowed, unless `value` is one of `allowed`. */
export function assertOneOf(value: unknown, allowed: readonly string[], what: string): void {
  if (typeof value === "string" && allowed.includes(value)) return;
  throw new AglError(
    "invalid_argument",
    `Invalid ${what}: ${JSON.stringify(value)}; allowed values are ${allowed.join(", ")}`,
  );
}
