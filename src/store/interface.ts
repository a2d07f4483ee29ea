/**
 * The store's interface: what the engine, the server and the HTTP client have in common.
 *
 * Every method rejects with an {@link AglError}: `not_found` for an unknown rollout or attempt in a write,
 * `conflict` for a change that the state machine forbids, `invalid_argument` for a bad value, `closed` after close.
 *
 * @module
 */
import type { JsonObject } from "../protocol/json.ts";
import type { NamedResources, ResourcesUpdate } from "../protocol/resources.ts";
import type {
  Attempt,
  AttemptedRollout,
  AttemptStatus,
  EnqueueRolloutRequest,
  Page,
  Rollout,
  RolloutConfig,
  RolloutMode,
  RolloutStatus,
  Worker,
  WorkerStatus,
} from "../protocol/rollout.ts";
import type { Span } from "../protocol/span.ts";

/** How the filters of a query combine; `and` by default. */
export type FilterLogic = "and" | "or";

/** Sorting and paging of a query. */
export interface PageQuery {
  /** A field of the item; without it, insertion order. */
  sort_by?: string | null;
  sort_order?: "asc" | "desc";
  /** Items at most; -1 (the default): all. */
  limit?: number;
  /** Items to skip; 0 by default. */
  offset?: number;
}

/** Which rollouts. */
export interface RolloutQuery extends PageQuery {
  status_in?: RolloutStatus[] | null;
  rollout_id_in?: string[] | null;
  rollout_id_contains?: string | null;
  filter_logic?: FilterLogic;
}

/** Which workers. */
export interface WorkerQuery extends PageQuery {
  status_in?: WorkerStatus[] | null;
  worker_id_contains?: string | null;
  filter_logic?: FilterLogic;
}

/** Which resources. */
export interface ResourcesQuery extends PageQuery {
  resources_id?: string | null;
  resources_id_contains?: string | null;
}

/** Which spans. Sorted by `sequence_id` unless told otherwise; `rollout_id` and `attempt_id` always hold, the others combine by `filter_logic`. */
export interface SpanQuery extends PageQuery {
  rollout_id: string;
  /** An attempt's id, or `latest`; without it, the spans of all attempts. */
  attempt_id?: string | null;
  trace_id?: string | null;
  trace_id_contains?: string | null;
  span_id?: string | null;
  span_id_contains?: string | null;
  parent_id?: string | null;
  parent_id_contains?: string | null;
  name?: string | null;
  name_contains?: string | null;
  filter_logic?: FilterLogic;
}

/** Changes to a rollout; only the keys that are present change. */
export interface RolloutPatch {
  input?: Rollout["input"];
  mode?: RolloutMode | null;
  resources_id?: string | null;
  status?: RolloutStatus;
  config?: Partial<RolloutConfig>;
  metadata?: JsonObject | null;
}

/** Changes to an attempt; only the keys that are present change. */
export interface AttemptPatch {
  status?: AttemptStatus;
  worker_id?: string;
  last_heartbeat_time?: number;
  metadata?: JsonObject;
}

/** A span to be stored; without a `sequence_id` (or with one that is not a positive integer) the store issues the next. */
export type SpanInput = Omit<Span, "sequence_id"> & { sequence_id?: number | null };

/**
 * What became of one span of a batch, in the order of the batch. `duplicate`: (rollout, attempt, span id) is stored
 * already and the first one stays. `rejected`: it cannot be placed (unknown rollout or attempt).
 */
export type AddSpanResult =
  | { status: "stored"; span: Span }
  | { status: "duplicate"; span: Span }
  | { status: "rejected"; reason: string };

/**
 * A span in the bytes in which it came: only what it is placed and found by is known. `content` makes an OTLP
 * `ExportTraceServiceRequest` in protobuf that holds this span alone, as `scanTracesProto` gives it; it is not checked.
 * It is called at most once, and its bytes are copied before the next span's are made: they may share memory.
 */
export type EncodedSpan = Pick<
  SpanInput,
  | "rollout_id"
  | "attempt_id"
  | "sequence_id"
  | "trace_id"
  | "span_id"
  | "parent_id"
  | "name"
  | "start_time"
  | "end_time"
> & { content: () => Uint8Array };

/** What became of one {@link EncodedSpan} of a batch; as {@link AddSpanResult}, without the span itself. */
export type AddEncodedResult =
  | { status: "stored"; sequence_id: number }
  | { status: "duplicate" }
  | { status: "rejected"; reason: string };

/** What happened, for live feeds and waits. `sequence` rises by one with each event of this process. */
export type StoreEvent =
  | { type: "rollout"; rollout: Rollout | AttemptedRollout }
  | { type: "attempt"; attempt: Attempt }
  | { type: "spans"; rollout_id: string; attempt_id: string; count: number }
  | { type: "resources"; resources: ResourcesUpdate }
  | { type: "worker"; worker: Worker };

/** Counts of what the store holds. */
export interface StoreStatistics {
  /** Name of the implementation. */
  name: string;
  total_rollouts: number;
  total_attempts: number;
  total_spans: number;
  total_resources: number;
  total_workers: number;
  /** Seconds since the store was opened. */
  uptime: number;
  /** Bytes that the spans take, where the implementation counts them. */
  total_span_bytes?: number;
}

/** Tasks, attempts, spans, resources and workers. */
export interface LightningStore {
  /** Adds rollouts to the queue, in order. Upstream: `enqueue_many_rollouts`. */
  enqueueRollouts(requests: readonly EnqueueRolloutRequest[]): Promise<Rollout[]>;
  /**
   * Claims up to `limit` (1 by default; 0 or less: none) rollouts, oldest first, each with a new attempt.
   *
   * The attempt is a lease. When the claimer never shows life (it died, or the answer was lost on the way), the attempt
   * becomes `unresponsive` after the rollout's `unresponsive_seconds`, and the rollout is tried again or fails as its
   * policy says. A rollout without limits is then `preparing` until it is changed by hand: give rollouts a limit.
   */
  dequeueRollouts(options?: { limit?: number; worker_id?: string | null }): Promise<AttemptedRollout[]>;
  /** Makes a rollout with its first attempt at once, past the queue. */
  startRollout(request: EnqueueRolloutRequest & { worker_id?: string | null }): Promise<AttemptedRollout>;
  /** Makes another attempt of a rollout by hand, whatever its retry policy says. */
  startAttempt(rolloutId: string, options?: { worker_id?: string | null }): Promise<AttemptedRollout>;
  queryRollouts(query?: RolloutQuery): Promise<Page<Rollout | AttemptedRollout>>;
  /** The rollout, with its latest attempt when it has one; null when unknown. */
  getRollout(rolloutId: string): Promise<Rollout | AttemptedRollout | null>;
  updateRollout(rolloutId: string, patch: RolloutPatch): Promise<Rollout | AttemptedRollout>;
  queryAttempts(rolloutId: string, query?: PageQuery): Promise<Page<Attempt>>;
  getLatestAttempt(rolloutId: string): Promise<Attempt | null>;
  /** Changes an attempt; `attemptId` may be `latest`. */
  updateAttempt(rolloutId: string, attemptId: string, patch: AttemptPatch): Promise<Attempt>;
  /** Stores a batch; a span that cannot be placed is told apart, the others are stored all the same. */
  addSpans(spans: readonly SpanInput[]): Promise<AddSpanResult[]>;
  /** The next sequence id of a rollout, at least 1. */
  nextSequenceId(rolloutId: string, attemptId: string): Promise<number>;
  querySpans(query: SpanQuery): Promise<Page<Span>>;
  /**
   * Resolves with the finished ones of `rolloutIds` (in the order asked, unknown ids left out) as soon as all are
   * finished, or when `timeoutSeconds` have passed (null: no limit; 0: at once), or with `aborted` when the signal fires.
   */
  waitForRollouts(
    rolloutIds: readonly string[],
    options?: { timeoutSeconds?: number | null; signal?: AbortSignal },
  ): Promise<Rollout[]>;
  addResources(resources: NamedResources): Promise<ResourcesUpdate>;
  /** Adds or replaces the set `resourcesId`; its version rises by one. */
  updateResources(resourcesId: string, resources: NamedResources): Promise<ResourcesUpdate>;
  queryResources(query?: ResourcesQuery): Promise<Page<ResourcesUpdate>>;
  getResources(resourcesId: string): Promise<ResourcesUpdate | null>;
  /** The set that was added or updated last; null when there is none. */
  getLatestResources(): Promise<ResourcesUpdate | null>;
  queryWorkers(query?: WorkerQuery): Promise<Page<Worker>>;
  getWorker(workerId: string): Promise<Worker | null>;
  /** Records a worker's heartbeat; makes the worker when it is new. */
  updateWorker(workerId: string, patch?: { heartbeat_stats?: JsonObject }): Promise<Worker>;
  statistics(): Promise<StoreStatistics>;
  close(): Promise<void>;
}

/** A store that lives in this process, and so can tell what happens as it happens. */
export interface LocalStore extends LightningStore {
  /** Stores a batch as {@link LightningStore.addSpans} does, and leaves its decoding to those who read. */
  addEncodedSpans(spans: readonly EncodedSpan[]): Promise<AddEncodedResult[]>;
  /** Calls `listener` after each change; returns a function that ends it. */
  subscribe(listener: (event: StoreEvent) => void): () => void;
  /** Applies time-outs that are due; gives back the number of attempts ended. */
  checkTimeouts(): Promise<number>;
}
