/**
 * Any OpenTelemetry span exporter as a destination. It brings its own retries; what we give it is batches, one at a
 * time, a time limit, and a bound of what waits for it.
 *
 * @module
 */
import { say } from "../internal/say.ts";
import { Agl } from "../protocol/semconv.ts";
import { approximateBytes, type FinishedSpan, shape } from "../trace/finished-span.ts";
import type { EndableSink } from "./exit.ts";
import type { FlushReport } from "./sink.ts";
import { viewSpan } from "./span-view.ts";
import { type SetTimer, systemTimer } from "./timer.ts";
import { messageOf, untraced } from "./transport.ts";

/** What is used of a span exporter of any SDK line (1.x, 2.x, 3.x). */
export interface OtelSpanExporter {
  // biome-ignore lint/suspicious/noExplicitAny: the span type differs from SDK to SDK, and parameters are checked bivariantly only as methods
  export(spans: any[], resultCallback: (result: { code: number; error?: Error }) => void): void;
  forceFlush?(): Promise<unknown>;
  shutdown(): Promise<unknown>;
}

/** Options of {@link createExporterSink}. Sizes are bytes, times milliseconds. */
export interface ExporterSinkOptions {
  /** Bound of what waits; 32 MiB by default. What does not fit is dropped, counted and reported. */
  queueBytes?: number;
  /** Most spans of one batch; 512 by default. */
  maxBatchSpans?: number;
  /** Longest that a span waits for others; 1 000 by default. */
  flushIntervalMs?: number;
  /** Until the exporter has to be done with a batch; 30 000 by default. Later it counts as failed. */
  exportTimeoutMs?: number;
  /** Told of a failed batch, once for each row of failures. */
  onError?: (error: Error) => void;
  setTimer?: SetTimer;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const SUCCESS = 0;

interface Waiting {
  span: FinishedSpan;
  bytes: number;
}

class ExporterSink implements EndableSink {
  readonly #exporter: OtelSpanExporter;
  readonly #options: Required<Omit<ExporterSinkOptions, "onError">> & Pick<ExporterSinkOptions, "onError">;
  #queue: Waiting[] = [];
  #bytes = 0;
  /** Spans taken in and spans settled, ever; they settle in order. */
  #added = 0;
  #settled = 0;
  #counts = { sent: 0, failed: 0 };
  #cancelTick: (() => void) | undefined;
  #running = false;
  #failing = false;
  #dropping = false;
  #waiters = new Set<{ mark: number; finish: () => void }>();
  #closing: Promise<FlushReport> | undefined;

  constructor(exporter: OtelSpanExporter, options: ExporterSinkOptions) {
    this.#exporter = exporter;
    this.#options = {
      queueBytes: 32 * 1024 ** 2,
      maxBatchSpans: 512,
      flushIntervalMs: 1_000,
      exportTimeoutMs: 30_000,
      setTimer: systemTimer,
      ...options,
    };
  }

  add(span: FinishedSpan): void {
    const bytes = approximateBytes(span);
    if (this.#closing !== undefined || this.#bytes + bytes > this.#options.queueBytes) {
      this.#counts.failed += 1;
      if (!this.#dropping) {
        this.#say(new Error("spans for an exporter are dropped: too many wait for it, or it was shut down"));
      }
      this.#dropping = true;
      return;
    }
    this.#dropping = false;
    this.#queue.push({ span, bytes });
    this.#bytes += bytes;
    this.#added += 1;
    this.#wake(this.#queue.length >= this.#options.maxBatchSpans ? 0 : this.#options.flushIntervalMs);
  }

  async flush(options: { timeoutMs?: number; rolloutId?: string } = {}): Promise<FlushReport> {
    await this.#drain(this.#markOf(options.rolloutId), options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    return this.#report();
  }

  shutdown(options: { timeoutMs?: number } = {}): Promise<FlushReport> {
    this.#closing ??= this.#shutDown(options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    return this.#closing;
  }

  async #shutDown(timeoutMs: number): Promise<FlushReport> {
    await this.#drain(this.#added, timeoutMs);
    const { error } = await this.#limited((done) => {
      this.#exporter.shutdown().then(() => done(), done);
    }, timeoutMs);
    if (error !== undefined) this.#say(error);
    return this.#report();
  }

  get pending(): number {
    return this.#added - this.#settled;
  }

  interrupt(): void {
    // An exporter has no way to be stopped but its own time limit.
  }

  rescue(): number {
    // Nor has it one to be quick: what it did not get in time it does not get.
    return this.pending;
  }

  #report(): FlushReport {
    const report = { ...this.#counts, pending: this.pending };
    this.#counts = { sent: 0, failed: 0 };
    return report;
  }

  /** How many spans have to settle until the last one of a rollout has. */
  #markOf(rolloutId: string | undefined): number {
    if (rolloutId === undefined) return this.#added;
    const last = this.#queue.findLastIndex(({ span }) => span.attributes[Agl.RolloutId] === rolloutId);
    // A batch under way is waited for whatever it holds.
    return this.#added - this.#queue.length + last + 1;
  }

  #drain(mark: number, timeoutMs: number): Promise<void> {
    if (this.#settled >= mark || timeoutMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const waiter = {
        mark,
        finish: () => {
          cancel();
          this.#waiters.delete(waiter);
          resolve();
        },
      };
      const cancel = this.#options.setTimer(waiter.finish, timeoutMs, { ref: true });
      this.#waiters.add(waiter);
      this.#wake(0);
    });
  }

  /** Never exports in the caller's own turn: `add` is called in the middle of the user's work. */
  #wake(ms: number): void {
    if (this.#running || (ms > 0 && this.#cancelTick !== undefined)) return;
    this.#cancelTick?.();
    this.#cancelTick = this.#options.setTimer(() => {
      this.#cancelTick = undefined;
      void this.#run();
    }, ms);
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, this.#options.maxBatchSpans);
      const { error } = await this.#limited((done) => {
        for (const { span } of batch) shape(span);
        const views = batch.map(({ span }) => viewSpan(span));
        this.#exporter.export(views, (result) => {
          done(
            result.code === SUCCESS
              ? undefined
              : (result.error ?? new Error("the exporter reported a failure")),
          );
        });
      }, this.#options.exportTimeoutMs);
      for (const { bytes } of batch) this.#bytes -= bytes;
      this.#counts[error === undefined ? "sent" : "failed"] += batch.length;
      this.#settled += batch.length;
      if (error !== undefined && !this.#failing) this.#say(error);
      this.#failing = error !== undefined;
      for (const waiter of this.#waiters) if (this.#settled >= waiter.mark) waiter.finish();
    }
    this.#running = false;
  }

  /** Calls the exporter's code: it may throw, call back twice or never. */
  #limited(call: (done: (error?: unknown) => void) => void, timeoutMs: number): Promise<{ error?: Error }> {
    return new Promise((resolve) => {
      const finish = (error?: unknown) => {
        cancel();
        if (error === undefined) resolve({});
        else resolve({ error: error instanceof Error ? error : new Error(messageOf(error)) });
      };
      const cancel = this.#options.setTimer(
        () => finish(new Error(`the exporter did not answer within ${timeoutMs} ms`)),
        timeoutMs,
      );
      try {
        untraced(() => call(finish));
      } catch (error) {
        finish(error ?? new Error("the exporter threw nothing"));
      }
    });
  }

  #say(error: Error): void {
    try {
      say("warn", "exporter", `a span exporter failed: ${messageOf(error)}`);
      this.#options.onError?.(error);
    } catch {
      // A callback's fault is not the program's.
    }
  }
}

/**
 * A sink that hands spans to an exporter of the OpenTelemetry SDK 1.x, 2.x or 3.x. Whatever the exporter does stays
 * with it: errors are counted and reported, a batch that takes too long is left behind.
 */
export function createExporterSink(
  exporter: OtelSpanExporter,
  options: ExporterSinkOptions = {},
): EndableSink {
  return new ExporterSink(exporter, options);
}
