/**
 * The engine's operations on rollouts and their attempts.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import type { AttemptedRollout, Rollout } from "../protocol/rollout.ts";
import type { Core, Transaction } from "./engine-core.ts";
import type { LightningStore } from "./interface.ts";
import { type AttemptRow, type RolloutHead, type RolloutRow, toAttemptedRollout, toRollout } from "./rows.ts";
import { assertTakesAttempt, newAttempt, overdue, patchAttempt, supersede } from "./rules/attempts.ts";
import { newRollout, patchRollout } from "./rules/rollouts.ts";
import { FINISHED } from "./rules/statuses.ts";
import { afterDequeue, afterLoss, newWorker } from "./rules/workers.ts";
import { attemptSelection, rolloutSelection } from "./selection.ts";

type RolloutMethods = Pick<
  LightningStore,
  | "enqueueRollouts"
  | "dequeueRollouts"
  | "startRollout"
  | "startAttempt"
  | "queryRollouts"
  | "getRollout"
  | "updateRollout"
  | "queryAttempts"
  | "getLatestAttempt"
  | "updateAttempt"
  | "waitForRollouts"
>;

/** Rollout operations over `core`; `scan` applies time-outs that are due. */
export function rolloutMethods(core: Core, scan: () => void): RolloutMethods {
  const { backend } = core;

  const beginAttempt = (tx: Transaction, rollout: RolloutRow, workerId: string | null): AttemptedRollout => {
    const previous = latestAttempt(core, rollout);
    const closing = previous === null ? null : supersede(previous, tx.now);
    if (previous !== null && closing !== null) tx.updateAttempt(previous, closing);
    const attempt = newAttempt({
      rolloutId: rollout.rollout_id,
      attemptId: core.ids.attempt(),
      previous,
      workerId,
      now: tx.now,
    });
    tx.insertAttempt(attempt);
    const move = tx.moveRollout(rollout, "preparing", { latest_attempt_id: attempt.attempt_id });
    return { ...toRollout({ ...rollout, ...move }), attempt };
  };

  return {
    async enqueueRollouts(requests) {
      core.assertOpen();
      scan();
      const rows = core.write((tx) => {
        const latestResourcesId = backend.latestResources()?.resources_id ?? null;
        const made: RolloutRow[] = requests.map((request) =>
          newRollout(request, {
            rolloutId: core.ids.rollout(),
            now: tx.now,
            latestResourcesId,
            queuePosition: tx.tail(),
          }),
        );
        for (const row of made) tx.insertRollout(row);
        return made;
      });
      return rows.map((row) => backend.isolate(toRollout(row)));
    },

    async dequeueRollouts(options = {}) {
      core.assertOpen();
      scan();
      const limit = options.limit ?? 1;
      if (!Number.isSafeInteger(limit)) {
        throw new AglError("invalid_argument", `Invalid limit: ${limit}; give a whole number`);
      }
      if (limit <= 0) return [];
      const workerId = options.worker_id ?? null;
      const claimed = core.write((tx) => {
        const taken = backend.queued(limit).map((rollout) => beginAttempt(tx, rollout, workerId));
        if (workerId !== null) {
          const worker = backend.worker(workerId) ?? newWorker(workerId);
          const last = taken.at(-1)?.attempt ?? null;
          tx.putWorker(afterDequeue(worker, last, backend.liveAttempt(workerId), tx.now));
        }
        return taken;
      });
      return claimed.map((rollout) => backend.isolate(rollout));
    },

    async startRollout(request) {
      core.assertOpen();
      scan();
      const started = core.write((tx) => {
        const row = newRollout(request, {
          rolloutId: core.ids.rollout(),
          now: tx.now,
          latestResourcesId: backend.latestResources()?.resources_id ?? null,
          queuePosition: null,
        });
        tx.insertRollout(row);
        const rollout = beginAttempt(tx, row, request.worker_id ?? null);
        tx.syncWorker(rollout.attempt);
        return rollout;
      });
      return backend.isolate(started);
    },

    async startAttempt(rolloutId, options = {}) {
      core.assertOpen();
      scan();
      const started = core.write((tx) => {
        const row = mustFind(backend.rollout(rolloutId), rolloutId);
        assertTakesAttempt(row);
        const rollout = beginAttempt(tx, row, options.worker_id ?? null);
        tx.syncWorker(rollout.attempt);
        return rollout;
      });
      return backend.isolate(started);
    },

    async queryRollouts(query = {}) {
      core.assertOpen();
      scan();
      const selection = rolloutSelection(query);
      const { items, total } = core.read(() => backend.selectRollouts(selection));
      return { items, limit: selection.limit, offset: selection.offset, total };
    },

    async getRollout(rolloutId) {
      core.assertOpen();
      scan();
      return core.read(() => {
        const row = backend.rollout(rolloutId);
        return row === null ? null : backend.isolate(toAttemptedRollout(row, latestAttempt(core, row)));
      });
    },

    async updateRollout(rolloutId, patch) {
      core.assertOpen();
      scan();
      return core.write((tx) => {
        const row = mustFind(backend.rollout(rolloutId), rolloutId);
        const changes = patchRollout(row, patch, tx);
        tx.updateRollout(row, changes);
        return backend.isolate(toAttemptedRollout({ ...row, ...changes }, latestAttempt(core, row)));
      });
    },

    async queryAttempts(rolloutId, query = {}) {
      core.assertOpen();
      scan();
      const selection = attemptSelection(rolloutId, query);
      const { items, total } = core.read(() => backend.selectAttempts(selection));
      return { items, limit: selection.limit, offset: selection.offset, total };
    },

    async getLatestAttempt(rolloutId) {
      core.assertOpen();
      scan();
      return core.read(() => {
        const rollout = backend.rolloutHead(rolloutId);
        return rollout === null ? null : backend.isolate(latestAttempt(core, rollout));
      });
    },

    async updateAttempt(rolloutId, attemptId, patch) {
      core.assertOpen();
      scan();
      return core.write((tx) => {
        const rollout = mustFind(backend.rolloutHead(rolloutId), rolloutId);
        const attempt = mustFindAttempt(core, rollout, attemptId);
        const move = patchAttempt(rollout, attempt, patch, tx.now);
        const after = tx.updateAttempt(attempt, move.attempt);
        if (move.rollout !== null) tx.moveRollout(rollout, move.rollout);
        if (attempt.worker_id !== null && attempt.worker_id !== after.worker_id) {
          const loser = backend.worker(attempt.worker_id);
          const live = backend.liveAttempt(attempt.worker_id);
          const released = loser === null ? null : afterLoss(loser, attempt, live, tx.now);
          if (released !== null) tx.putWorker(released);
        }
        if (patch.status !== undefined || patch.worker_id !== undefined) tx.syncWorker(after);
        return backend.isolate(after);
      });
    },

    async waitForRollouts(rolloutIds, options = {}) {
      core.assertOpen();
      scan();
      const unfinished = (): string[] =>
        core.read(() =>
          [...new Set(rolloutIds)].filter((rolloutId) => {
            const rollout = backend.rolloutHead(rolloutId);
            return rollout !== null && !FINISHED[rollout.status];
          }),
        );
      await core.waits.until(unfinished, {
        timeoutSeconds: options.timeoutSeconds ?? null,
        signal: options.signal,
      });
      return core.read(() => {
        const finished: Rollout[] = [];
        for (const rolloutId of rolloutIds) {
          const row = backend.rollout(rolloutId);
          if (row !== null && FINISHED[row.status]) finished.push(backend.isolate(toRollout(row)));
        }
        return finished;
      });
    },
  };
}

/** Ends the current attempts that passed a limit, by the same rule as a report would; gives back how many. */
export function applyTimeouts(core: Core): number {
  const { backend } = core;
  const now = core.now();
  const isOverdue = (): boolean =>
    backend.limited().some((rollout) => {
      const attempt = latestAttempt(core, rollout);
      return attempt !== null && overdue(rollout, attempt, now) !== null;
    });
  // Most looks find nothing, and should not take the lock that writers need.
  if (!core.read(isOverdue)) return 0;
  return core.write((tx) => {
    let ended = 0;
    for (const rollout of backend.limited()) {
      const attempt = latestAttempt(core, rollout);
      const status = attempt === null ? null : overdue(rollout, attempt, tx.now);
      if (attempt === null || status === null) continue;
      const move = patchAttempt(rollout, attempt, { status }, tx.now);
      const after = tx.updateAttempt(attempt, move.attempt);
      if (move.rollout !== null) tx.moveRollout(rollout, move.rollout);
      tx.syncWorker(after);
      ended++;
    }
    return ended;
  });
}

function latestAttempt(core: Core, rollout: RolloutHead): AttemptRow | null {
  return rollout.latest_attempt_id === null
    ? null
    : core.backend.attempt(rollout.rollout_id, rollout.latest_attempt_id);
}

function mustFind<T>(row: T | null, rolloutId: string): T {
  if (row === null) throw new AglError("not_found", `Rollout ${rolloutId} not found`);
  return row;
}

function mustFindAttempt(core: Core, rollout: RolloutHead, attemptId: string): AttemptRow {
  const latest = attemptId === "latest";
  const attempt = latest ? latestAttempt(core, rollout) : core.backend.attempt(rollout.rollout_id, attemptId);
  if (attempt !== null) return attempt;
  throw new AglError(
    "not_found",
    latest
      ? `No attempts found for rollout ${rollout.rollout_id}`
      : `Attempt ${attemptId} not found for rollout ${rollout.rollout_id}`,
  );
}
