/**
 * A destination of spans that keeps them in memory, for tests of an agent without a store.
 *
 * @module
 */
import type { SpanSink } from "../export/sink.ts";
import { type FinishedSpan, shape } from "../trace/finished-span.ts";

/** A sink with the spans that it was given. */
export interface MemorySink extends SpanSink {
  /** Spans in the order in which they ended, their attributes whole. */
  readonly spans: readonly FinishedSpan[];
  /** Forgets the spans. */
  clear(): void;
}

/** An empty sink. */
export function createMemorySink(): MemorySink {
  const added: FinishedSpan[] = [];
  let reported = 0;
  let closed = false;
  const report = () => {
    const sent = added.length - reported;
    reported = added.length;
    return Promise.resolve({ sent, failed: 0, pending: 0 });
  };
  return {
    get spans() {
      // Not as they are added: shaping belongs off the path of the user's call, here as in every sink.
      for (const span of added) shape(span);
      return added;
    },
    clear() {
      added.length = 0;
      reported = 0;
    },
    add(span) {
      if (!closed) added.push(span);
    },
    flush: report,
    shutdown() {
      closed = true;
      return report();
    },
  };
}
