/**
 * The engine's operations on spans.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import type { Span } from "../protocol/span.ts";
import type { Core, Transaction } from "./engine-core.ts";
import type { AddSpanResult, LightningStore, SpanInput } from "./interface.ts";
import type { AttemptRow } from "./rows.ts";
import { spanArrived } from "./rules/attempts.ts";
import { afterSequence, sequenceFor } from "./rules/sequence.ts";
import { spanSelection } from "./selection.ts";

type SpanMethods = Pick<LightningStore, "addSpans" | "nextSequenceId" | "querySpans">;

// The spans of one batch that belong to one attempt.
interface Group {
  attempt: AttemptRow;
  stored: number;
}

/** Span operations over `core`; `scan` applies time-outs that are due. */
export function spanMethods(core: Core, scan: () => void): SpanMethods {
  const { backend } = core;
  return {
    async addSpans(spans) {
      core.assertOpen();
      if (spans.length === 0) return [];
      return core.write((tx) => addBatch(tx, spans));
    },

    async nextSequenceId(rolloutId, attemptId) {
      return core.write(() => {
        const refusal = placeOf(backend.attempt(rolloutId, attemptId), rolloutId, attemptId, backend);
        if (typeof refusal === "string") throw new AglError("not_found", refusal);
        const next = backend.sequence(rolloutId) + 1;
        backend.setSequence(rolloutId, next);
        return next;
      });
    },

    async querySpans(query) {
      core.assertOpen();
      // `latest` may point to another attempt once a time-out was applied.
      scan();
      return core.read(() => {
        let attemptId = query.attempt_id ?? null;
        if (attemptId === "latest") {
          attemptId = backend.rolloutHead(query.rollout_id)?.latest_attempt_id ?? null;
          if (attemptId === null) {
            const { limit, offset } = spanSelection(query, null);
            return { items: [], limit, offset, total: 0 };
          }
        }
        const selection = spanSelection(query, attemptId);
        const { items, total } = backend.selectSpans(selection);
        return { items, limit: selection.limit, offset: selection.offset, total };
      });
    },
  };
}

// First all inserts, then what they mean for attempts and rollouts: a refused insert then undoes the whole batch.
function addBatch(tx: Transaction, spans: readonly SpanInput[]): AddSpanResult[] {
  const { backend } = tx;
  const groups = new Map<string, Group | string>();
  const sequences = new Map<string, number>();
  const results = spans.map((input): AddSpanResult => {
    const key = `${input.rollout_id}/${input.attempt_id}`;
    let group = groups.get(key);
    if (group === undefined) {
      const attempt = backend.attempt(input.rollout_id, input.attempt_id);
      const place = placeOf(attempt, input.rollout_id, input.attempt_id, backend);
      group = typeof place === "string" ? place : { attempt: place, stored: 0 };
      groups.set(key, group);
    }
    if (typeof group === "string") return { status: "rejected", reason: group };
    const last = sequences.get(input.rollout_id) ?? backend.sequence(input.rollout_id);
    const span: Span = { ...input, sequence_id: sequenceFor(input.sequence_id, last) };
    if (!backend.insertSpan({ span, event: null })) {
      const first = backend.span(input.rollout_id, input.attempt_id, input.span_id);
      return { status: "duplicate", span: first as Span };
    }
    group.stored++;
    sequences.set(input.rollout_id, afterSequence(last, span.sequence_id));
    return { status: "stored", span };
  });
  for (const [rolloutId, sequence] of sequences) backend.setSequence(rolloutId, sequence);
  for (const group of groups.values()) {
    if (typeof group !== "string" && group.stored > 0) heartbeat(tx, group);
  }
  return results;
}

function heartbeat(tx: Transaction, { attempt, stored }: Group): void {
  const { rollout_id, attempt_id } = attempt;
  const rollout = tx.backend.rolloutHead(rollout_id);
  if (rollout === null) return;
  const move = spanArrived(rollout, attempt, tx.now);
  const after = tx.updateAttempt(attempt, move.attempt);
  if (move.rollout !== null) tx.moveRollout(rollout, move.rollout);
  // A worker that was given up for gone has shown a sign of life.
  if (attempt.status === "unresponsive" && after.status === "running") tx.syncWorker(after);
  tx.changes.events.push({ type: "spans", rollout_id, attempt_id, count: stored });
}

function placeOf(
  attempt: AttemptRow | null,
  rolloutId: string,
  attemptId: string,
  backend: Transaction["backend"],
): AttemptRow | string {
  if (attempt !== null) return attempt;
  return backend.rolloutHead(rolloutId) === null
    ? `Rollout ${rolloutId} not found`
    : `Attempt ${attemptId} not found for rollout ${rolloutId}`;
}
