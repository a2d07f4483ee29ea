/**
 * Where finished spans go.
 *
 * @module
 */
import type { FinishedSpan } from "../trace/finished-span.ts";

/** What became of the spans handed over so far. */
export interface FlushReport {
  /** Spans acknowledged by the other side. */
  sent: number;
  /** Spans given up: refused by the other side for good, or dropped because the queue was full. */
  failed: number;
  /** Spans still waiting, in memory or spooled on disk. */
  pending: number;
}

/** A destination of finished spans. No method throws or rejects into the caller. */
export interface SpanSink {
  /** Takes a span; never blocks, never throws. */
  add(span: FinishedSpan): void;
  /**
   * Sends what is waiting and waits for what is in flight, at most `timeoutMs` (30 000 by default). With `rolloutId`,
   * only that rollout's spans are waited for. The report counts since the last report for `sent` and `failed`.
   */
  flush(options?: { timeoutMs?: number; rolloutId?: string }): Promise<FlushReport>;
  /** Flushes, then takes nothing more. Safe to call twice. */
  shutdown(options?: { timeoutMs?: number }): Promise<FlushReport>;
}
