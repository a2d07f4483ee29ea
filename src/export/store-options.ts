/**
 * Options of the store's sink, with their defaults.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import { type SetTimer, systemTimer } from "./timer.ts";

/** Why spans were dropped. */
export interface DropReport {
  /** Spans dropped so far by this sink. */
  dropped: number;
  /** The rollout of the first span of this episode. */
  rolloutId: string;
  /** What filled up, and the remedy. */
  message: string;
}

/** Options of `createStoreSink`. Sizes are bytes, times milliseconds. */
export interface StoreSinkOptions {
  /** Address of the store, without `/v1/traces`. */
  url: string;
  /** Bearer key of the store. */
  key?: string | undefined;
  /**
   * What happens to spans that do not fit into memory: `spill` writes them to the spool, where there is one, and
   * drops them otherwise; `drop` drops them. Drops are counted and reported. `spill` by default.
   */
  onFull?: "spill" | "drop";
  /**
   * Directory in which spans wait while the store is away, and after the end of the process. Several processes may
   * share it. By default there is none, and spans wait in memory.
   */
  spoolDirectory?: string | undefined;
  /** Bound of the spool; 1 GiB by default. */
  spoolBytes?: number;
  /** Bound of what waits in memory; 64 MiB by default. */
  queueBytes?: number;
  /** Most spans that wait in memory; 100 000 by default. */
  queueSpans?: number;
  /** Most bytes of one request before compression; 4 MiB by default. */
  maxBatchBytes?: number;
  /** Most spans of one request; 512 by default. */
  maxBatchSpans?: number;
  /** Requests under way at once; 4 by default. Never more than one for an attempt. */
  maxConcurrency?: number;
  /** Longest that a span waits for others; 1 000 by default. */
  flushIntervalMs?: number;
  /** Until an answer has to be complete; 10 000 by default. */
  requestTimeoutMs?: number;
  /**
   * Whether a request under way holds the process; true by default. False is for those who wait for it at the end
   * of the process (`installExitHooks`), and has an effect in Node only.
   */
  holdsProcess?: boolean;
  /** Upper bound of the first wait after a failure, doubled by each further one; 250 by default. */
  firstDelayMs?: number;
  /** Upper bound of the waits between two tries; 30 000 by default. */
  maxDelayMs?: number;
  /** Upper bound of the wait that a server's `Retry-After` asks for; 120 000 by default. */
  maxRetryAfterMs?: number;
  /**
   * How long a request that the server fails at (500) is repeated as it is, and five times at least; 10 000 by default.
   * After that it is split until the span at fault is alone, and that span is given up once others have arrived.
   */
  retryBudgetMs?: number;
  /** Compression of requests of 1 KiB and more; by default `none` to this machine itself, else `gzip`. */
  compression?: "gzip" | "none";
  userAgent?: string;
  /** Told once when spans begin to be dropped, and again only after some were taken in between. */
  onDrop?: (report: DropReport) => void;
  /** Told of refused spans, of outages (once each) and of a wrong address or key (once). */
  onError?: (error: AglError) => void;
  fetch?: typeof globalThis.fetch;
  /** Milliseconds since the epoch. */
  now?: () => number;
  /** From 0 up to 1. */
  random?: () => number;
  setTimer?: SetTimer;
}

type Optional = "key" | "spoolDirectory" | "onDrop" | "onError";

/** Options with every default filled in. */
export type StoreSinkSettings = Required<Omit<StoreSinkOptions, Optional>> & Pick<StoreSinkOptions, Optional>;

const DEFAULTS = {
  onFull: "spill",
  spoolBytes: 1024 ** 3,
  queueBytes: 64 * 1024 ** 2,
  queueSpans: 100_000,
  maxBatchBytes: 4 * 1024 ** 2,
  maxBatchSpans: 512,
  maxConcurrency: 4,
  flushIntervalMs: 1_000,
  requestTimeoutMs: 10_000,
  holdsProcess: true,
  firstDelayMs: 250,
  maxDelayMs: 30_000,
  maxRetryAfterMs: 120_000,
  retryBudgetMs: 10_000,
  userAgent: "agentlightning-js",
} as const;

/** Where packing and unpacking cost more than the bytes that they save. */
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Fills the defaults in.
 *
 * @throws AglError `invalid_argument` for an address or a key that no request can be made with
 */
export function resolveOptions(options: StoreSinkOptions): StoreSinkSettings {
  if (!/^https?:\/\/[^/]/.test(options.url) || !URL.canParse(options.url)) {
    throw new AglError(
      "invalid_argument",
      `The store's url ${JSON.stringify(options.url)} is no address; it looks like http://127.0.0.1:4747`,
    );
  }
  // The value is not named: it is a secret.
  if (options.key !== undefined && !/^[\x21-\x7e]+$/.test(options.key)) {
    throw new AglError(
      "invalid_argument",
      "The store's key is empty or holds spaces, line breaks or letters outside of ASCII, which no header can carry",
    );
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  return {
    ...DEFAULTS,
    compression: LOOPBACK.test(new URL(options.url).hostname) ? "none" : "gzip",
    // Looked up at each call: a test or an instrumentation may replace it later.
    fetch: (input, init) => globalThis.fetch(input, init),
    now: Date.now,
    random: Math.random,
    setTimer: systemTimer,
    ...given,
  } as StoreSinkSettings;
}
