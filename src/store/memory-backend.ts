/**
 * Keeps rows in this process's memory.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import type { Selected, StoreBackend } from "./backend.ts";
import { selectFrom } from "./memory-table.ts";
import {
  type AttemptRow,
  type ResourcesRow,
  type RolloutRow,
  type SpanRow,
  toAttemptedRollout,
  toResources,
  type WorkerRow,
} from "./rows.ts";
import { hasLimits } from "./rules/attempts.ts";
import type { Selection } from "./selection.ts";
import { spanFrom } from "./span-content.ts";

interface RolloutSpans {
  // A span's content shares nothing with what its sender holds, and its size is known.
  byKey: Map<string, SpanRow>;
  sequence: number;
}

/** Rows in memory. `maxSpanBytes`: bytes that the spans may take in all; infinite by default. */
export function createMemoryBackend(options: { maxSpanBytes?: number } = {}): StoreBackend {
  const maxSpanBytes = options.maxSpanBytes ?? Number.POSITIVE_INFINITY;
  const rollouts = new Map<string, RolloutRow>();
  // By position: a map keeps insertion order, and positions only rise, so its first keys are the head of the queue.
  const queue = new Map<number, string>();
  const limited = new Set<string>();
  /** Places of the rollouts in the order of their insertion: a rollout may come under watch long after a later one. */
  const places = new Map<string, number>();
  const attempts = new Map<string, Map<string, AttemptRow>>();
  const attemptOrder = new Map<string, number>();
  const liveByWorker = new Map<string, Map<string, AttemptRow>>();
  const spans = new Map<string, RolloutSpans>();
  const workers = new Map<string, WorkerRow>();
  const resources = new Map<string, ResourcesRow>();
  const counts = { attempts: 0, spans: 0, spanBytes: 0 };
  let inserted: { ofRollout: Map<string, SpanRow>; key: string; bytes: number }[] = [];
  let lastPosition = 0;
  let latestResources: ResourcesRow | null = null;

  const keepRollout = (row: RolloutRow): void => {
    const before = rollouts.get(row.rollout_id)?.queue_position ?? null;
    if (before !== row.queue_position) {
      if (before !== null) queue.delete(before);
      if (row.queue_position !== null) {
        queue.set(row.queue_position, row.rollout_id);
        lastPosition = Math.max(lastPosition, row.queue_position);
      }
    }
    rollouts.set(row.rollout_id, row);
    if (!places.has(row.rollout_id)) places.set(row.rollout_id, places.size);
    const watched = (row.status === "preparing" || row.status === "running") && hasLimits(row.config);
    if (watched) limited.add(row.rollout_id);
    else limited.delete(row.rollout_id);
  };

  const keepAttempt = (row: AttemptRow, before: AttemptRow | null): void => {
    entry(attempts, row.rollout_id, () => new Map<string, AttemptRow>()).set(row.attempt_id, row);
    const key = `${row.rollout_id}/${row.attempt_id}`;
    if (before !== null && before.worker_id !== null) liveByWorker.get(before.worker_id)?.delete(key);
    if (row.worker_id === null || (row.status !== "preparing" && row.status !== "running")) return;
    entry(liveByWorker, row.worker_id, () => new Map<string, AttemptRow>()).set(key, row);
  };

  const spansOf = (rolloutId: string): RolloutSpans =>
    entry(spans, rolloutId, () => ({ byKey: new Map(), sequence: 0 }));

  const page = <R extends object, T>(
    rows: Iterable<R>,
    selection: Selection,
    out: (row: R) => T,
  ): Selected<T> => {
    const { items, total } = selectFrom(rows, selection);
    return { items: items.map((row) => structuredClone(out(row))), total };
  };

  const latestOf = (row: RolloutRow): AttemptRow | null =>
    row.latest_attempt_id === null
      ? null
      : (attempts.get(row.rollout_id)?.get(row.latest_attempt_id) ?? null);

  return {
    name: "MemoryLightningStore",
    // Rules throw before the first write; only spans can be refused half way, and come first in their transaction.
    write(work) {
      inserted = [];
      try {
        return work();
      } catch (error) {
        for (const { ofRollout, key, bytes } of inserted) {
          ofRollout.delete(key);
          counts.spans--;
          counts.spanBytes -= bytes;
        }
        throw error;
      }
    },
    read: (work) => work(),
    isolate: (value) => structuredClone(value),

    insertRollout: keepRollout,
    updateRollout: (rolloutId, changes) =>
      keepRollout({ ...(rollouts.get(rolloutId) as RolloutRow), ...changes }),
    rollout: (rolloutId) => rollouts.get(rolloutId) ?? null,
    rolloutHead: (rolloutId) => rollouts.get(rolloutId) ?? null,
    queued(limit) {
      const rows: RolloutRow[] = [];
      for (const rolloutId of queue.values()) {
        if (rows.length >= limit) break;
        rows.push(rollouts.get(rolloutId) as RolloutRow);
      }
      return rows;
    },
    queueTail: () => lastPosition + 1,
    limited: () =>
      [...limited]
        .sort((a, b) => (places.get(a) as number) - (places.get(b) as number))
        .map((rolloutId) => rollouts.get(rolloutId) as RolloutRow),

    insertAttempt(row) {
      attemptOrder.set(`${row.rollout_id}/${row.attempt_id}`, counts.attempts++);
      keepAttempt(row, null);
    },
    updateAttempt(rolloutId, attemptId, changes) {
      const before = attempts.get(rolloutId)?.get(attemptId) as AttemptRow;
      keepAttempt({ ...before, ...changes }, before);
    },
    attempt: (rolloutId, attemptId) => attempts.get(rolloutId)?.get(attemptId) ?? null,
    liveAttempt(workerId) {
      let newest: AttemptRow | null = null;
      let order = -1;
      for (const [key, row] of liveByWorker.get(workerId) ?? []) {
        const position = attemptOrder.get(key) as number;
        if (position < order || rollouts.get(row.rollout_id)?.latest_attempt_id !== row.attempt_id) continue;
        newest = row;
        order = position;
      }
      return newest;
    },

    insertSpan(row) {
      const { byKey } = spansOf(row.rollout_id);
      const key = `${row.attempt_id}/${row.span_id}`;
      if (byKey.has(key)) return false;
      const bytes = Buffer.byteLength(row.content) + (row.event === null ? 0 : Buffer.byteLength(row.event));
      if (counts.spanBytes + bytes > maxSpanBytes) {
        throw new AglError(
          "unavailable",
          `The memory store holds its limit of ${maxSpanBytes} bytes of spans; open a SQLite store, or raise maxSpanBytes`,
          { retryable: false },
        );
      }
      // Bytes are their sender's, who will use their memory for the next ones.
      const content = typeof row.content === "string" ? row.content : new Uint8Array(row.content);
      byKey.set(key, { ...row, content });
      inserted.push({ ofRollout: byKey, key, bytes });
      counts.spans++;
      counts.spanBytes += bytes;
      return true;
    },
    span(rolloutId, attemptId, spanId) {
      const found = spans.get(rolloutId)?.byKey.get(`${attemptId}/${spanId}`);
      return found === undefined ? null : spanFrom(found, found.content);
    },
    sequence: (rolloutId) => spans.get(rolloutId)?.sequence ?? 0,
    setSequence(rolloutId, sequenceId) {
      spansOf(rolloutId).sequence = sequenceId;
    },

    worker: (workerId) => workers.get(workerId) ?? null,
    putWorker: (row) => void workers.set(row.worker_id, row),
    resources: (resourcesId) => resources.get(resourcesId) ?? null,
    latestResources: () => latestResources,
    putResources(row) {
      resources.set(row.resources_id, row);
      latestResources = row;
    },

    selectRollouts: (selection) =>
      page(rollouts.values(), selection, (row) => toAttemptedRollout(row, latestOf(row))),
    selectAttempts(selection) {
      const rolloutId = selection.must[0]?.value as string;
      return page(attempts.get(rolloutId)?.values() ?? [], selection, (row) => row);
    },
    selectSpans(selection) {
      const rolloutId = selection.must[0]?.value as string;
      const { items, total } = selectFrom(spans.get(rolloutId)?.byKey.values() ?? [], selection);
      return { items: items.map((row) => spanFrom(row, row.content)), total };
    },
    selectWorkers: (selection) => page(workers.values(), selection, (row) => row),
    selectResources: (selection) => page(resources.values(), selection, toResources),
    totals: () => ({ ...counts, rollouts: rollouts.size, resources: resources.size, workers: workers.size }),
    close() {},
  };
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
