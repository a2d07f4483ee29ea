/**
 * A destination of spans that keeps them in memory, for tests of an agent without a store.
 *
 * @module
 */
import type { SpanSink } from "../export/sink.ts";
import { type FinishedSpan, shape } from "../trace/finished-span.ts";

/** A sink with the spans that it was given; also an OpenTelemetry exporter, for `configure({ exporters })`. */
export interface MemorySink extends SpanSink {
  /** Spans in the order in which they ended, their attributes whole. */
  readonly spans: readonly FinishedSpan[];
  /** Forgets the spans. */
  clear(): void;
  /** Takes spans as an OpenTelemetry exporter does; `code` 0 says that it went well. */
  export(spans: readonly FinishedSpan[], done: (result: { code: 0 }) => void): void;
}

/**
 * An empty sink.
 *
 * @example
 * ```ts
 * import * as agl from "agentlightning";
 * import { createMemorySink, spanTree } from "agentlightning/testing";
 * const sink = createMemorySink();
 * agl.configure({ exporters: [sink] });
 * agl.agent("planner", () => agl.emitReward(1));
 * await agl.flush();
 * spanTree(sink.spans); // "invoke_agent planner [planner]\n  agentlightning.annotation [planner]"
 * ```
 */
export function createMemorySink(): MemorySink {
  const added: FinishedSpan[] = [];
  let reported = 0;
  let closed = false;
  const add = (span: FinishedSpan) => {
    if (!closed) added.push(span);
  };
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
    add,
    export(spans, done) {
      spans.forEach(add);
      done({ code: 0 });
    },
    flush: report,
    shutdown() {
      closed = true;
      return report();
    },
  };
}
