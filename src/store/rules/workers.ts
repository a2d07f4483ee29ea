/**
 * Rules of a worker's state. A worker may run several attempts: it is idle only when none of them is live.
 *
 * @module
 */
import type { AttemptRow, WorkerRow } from "../rows.ts";
import { ENDED } from "./statuses.ts";

/** A worker that nothing is known of. */
export function newWorker(workerId: string): WorkerRow {
  return {
    worker_id: workerId,
    status: "unknown",
    heartbeat_stats: null,
    last_heartbeat_time: null,
    last_dequeue_time: null,
    last_busy_time: null,
    last_idle_time: null,
    current_rollout_id: null,
    current_attempt_id: null,
  };
}

/** The worker after it was given, or gave a sign of, a live attempt. */
export function busyWith(worker: WorkerRow, attempt: AttemptRow, now: number): WorkerRow {
  return {
    ...worker,
    status: "busy",
    last_busy_time: now,
    current_rollout_id: attempt.rollout_id,
    current_attempt_id: attempt.attempt_id,
  };
}

/**
 * The worker after `attempt`, one of its own, changed. `live` is the newest of its attempts that is preparing or
 * running, null when there is none.
 */
export function afterAttempt(
  worker: WorkerRow,
  attempt: AttemptRow,
  live: AttemptRow | null,
  now: number,
): WorkerRow {
  if (attempt.status === "preparing" || attempt.status === "running") return busyWith(worker, attempt, now);
  if (live !== null) return busyWith(worker, live, now);
  // A worker whose attempt went silent or ran out of time may be gone: nobody has heard from it.
  const reported = ENDED[attempt.status] && attempt.status !== "timeout";
  return released(worker, reported ? "idle" : "unknown", now);
}

/** The worker after it asked for work; `claimed` is the last attempt that it was given. */
export function afterDequeue(
  worker: WorkerRow,
  claimed: AttemptRow | null,
  live: AttemptRow | null,
  now: number,
): WorkerRow {
  const asked = { ...worker, last_dequeue_time: now };
  if (claimed !== null) return busyWith(asked, claimed, now);
  if (live !== null) return asked;
  return worker.status === "idle" ? asked : released(asked, "idle", now);
}

/** The worker after an attempt was taken from it and given to another; null when nothing changes. */
export function afterLoss(
  worker: WorkerRow,
  attempt: AttemptRow,
  live: AttemptRow | null,
  now: number,
): WorkerRow | null {
  if (worker.current_attempt_id !== attempt.attempt_id) return null;
  return live === null ? released(worker, "idle", now) : busyWith(worker, live, now);
}

function released(worker: WorkerRow, status: "idle" | "unknown", now: number): WorkerRow {
  return { ...worker, status, last_idle_time: now, current_rollout_id: null, current_attempt_id: null };
}
