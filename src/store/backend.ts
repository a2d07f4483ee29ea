/**
 * What the engine asks of a place that keeps rows. Calls are synchronous and run inside a transaction that the engine
 * opens; a backend knows no rule.
 *
 * @module
 */
import type { ResourcesUpdate } from "../protocol/resources.ts";
import type { Attempt, AttemptedRollout, Rollout, Worker } from "../protocol/rollout.ts";
import type { Span } from "../protocol/span.ts";
import type { AttemptRow, ResourcesRow, RolloutHead, RolloutRow, SpanRow, WorkerRow } from "./rows.ts";
import type { Selection } from "./selection.ts";

/** One page of a selection and the number of matches before paging. */
export interface Selected<T> {
  items: T[];
  total: number;
}

/** Counts of rows. */
export interface Totals {
  rollouts: number;
  attempts: number;
  spans: number;
  resources: number;
  workers: number;
  /** Bytes of the stored text of all spans. */
  spanBytes: number;
}

/**
 * A place that keeps rows. Rows given out by the single-row reads must not be changed, and may be the very ones kept;
 * those given out by the selections belong to the caller.
 */
export interface StoreBackend {
  /** Name for the statistics. */
  readonly name: string;
  /** Runs `work` in one transaction: all of its writes last, or none when it throws. */
  write<T>(work: () => T): T;
  /** Runs `work` on one state of the data. */
  read<T>(work: () => T): T;
  /** A copy of a row that the caller may keep and change. */
  isolate<T>(value: T): T;

  insertRollout(row: RolloutRow): void;
  updateRollout(rolloutId: string, changes: Partial<RolloutRow>): void;
  rollout(rolloutId: string): RolloutRow | null;
  rolloutHead(rolloutId: string): RolloutHead | null;
  /** The first of the queue. */
  queued(limit: number): RolloutRow[];
  /** A place after the last of the queue. */
  queueTail(): number;
  /** Rollouts that are preparing or running and have limits, in the order of their insertion. */
  limited(): RolloutHead[];

  insertAttempt(row: AttemptRow): void;
  updateAttempt(rolloutId: string, attemptId: string, changes: Partial<AttemptRow>): void;
  attempt(rolloutId: string, attemptId: string): AttemptRow | null;
  /** The newest attempt of a worker that is preparing or running and the latest of its rollout. */
  liveAttempt(workerId: string): AttemptRow | null;

  /** Inserts unless (rollout, attempt, span id) is there; false when it is. */
  insertSpan(row: SpanRow): boolean;
  span(rolloutId: string, attemptId: string, spanId: string): Span | null;
  /** The sequence id that was issued or seen last in a rollout; 0 when there is none. */
  sequence(rolloutId: string): number;
  setSequence(rolloutId: string, sequenceId: number): void;

  worker(workerId: string): WorkerRow | null;
  putWorker(row: WorkerRow): void;
  resources(resourcesId: string): ResourcesRow | null;
  latestResources(): ResourcesRow | null;
  putResources(row: ResourcesRow): void;

  selectRollouts(selection: Selection): Selected<Rollout | AttemptedRollout>;
  selectAttempts(selection: Selection): Selected<Attempt>;
  selectSpans(selection: Selection): Selected<Span>;
  selectWorkers(selection: Selection): Selected<Worker>;
  selectResources(selection: Selection): Selected<ResourcesUpdate>;
  totals(): Totals;
  close(): void | Promise<void>;
}
