/**
 * The engine's operations on spans.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import type { Span } from "../protocol/span.ts";
import type { Core, Transaction } from "./engine-core.ts";
import type { AddEncodedResult, AddSpanResult, EncodedSpan, LocalStore } from "./interface.ts";
import type { AttemptRow, SpanContent, SpanRow } from "./rows.ts";
import { spanArrived } from "./rules/attempts.ts";
import { afterSequence, sequenceFor } from "./rules/sequence.ts";
import { spanSelection } from "./selection.ts";
import { spanText } from "./span-content.ts";

type SpanMethods = Pick<LocalStore, "addSpans" | "addEncodedSpans" | "nextSequenceId" | "querySpans">;

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
      return core.write((tx) => {
        const results = addBatch(tx, spans, spanText);
        return spans.map((input, i): AddSpanResult => {
          const result = results[i] as AddEncodedResult;
          if (result.status === "rejected") return result;
          if (result.status === "stored") {
            return { status: "stored", span: { ...input, sequence_id: result.sequence_id } };
          }
          const first = backend.span(input.rollout_id, input.attempt_id, input.span_id);
          return { status: "duplicate", span: first as Span };
        });
      });
    },

    async addEncodedSpans(spans) {
      core.assertOpen();
      if (spans.length === 0) return [];
      return core.write((tx) => addBatch(tx, spans, (span) => span.content()));
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
function addBatch<S extends Omit<EncodedSpan, "content">>(
  tx: Transaction,
  spans: readonly S[],
  contentOf: (span: S) => SpanContent,
): AddEncodedResult[] {
  const { backend } = tx;
  const groups = new Map<string, Group | string>();
  const sequences = new Map<string, number>();
  const results = spans.map((input): AddEncodedResult => {
    const { rollout_id, attempt_id, trace_id, span_id, parent_id, name, start_time, end_time } = input;
    const key = `${rollout_id}/${attempt_id}`;
    let group = groups.get(key);
    if (group === undefined) {
      const place = placeOf(backend.attempt(rollout_id, attempt_id), rollout_id, attempt_id, backend);
      group = typeof place === "string" ? place : { attempt: place, stored: 0 };
      groups.set(key, group);
    }
    if (typeof group === "string") return { status: "rejected", reason: group };
    const last = sequences.get(rollout_id) ?? backend.sequence(rollout_id);
    const sequence_id = sequenceFor(input.sequence_id, last);
    const row: SpanRow = {
      rollout_id,
      attempt_id,
      sequence_id,
      trace_id,
      span_id,
      parent_id,
      name,
      start_time,
      end_time,
      content: contentOf(input),
      event: null,
    };
    if (!backend.insertSpan(row)) return { status: "duplicate" };
    group.stored++;
    sequences.set(rollout_id, afterSequence(last, sequence_id));
    return { status: "stored", sequence_id };
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
