/**
 * Runs code inside a rollout whose spans are kept in memory.
 *
 * @module
 */
import type { RolloutMode } from "../../src/protocol/rollout.ts";
import { Agl } from "../../src/protocol/semconv.ts";
import { endOpenSpans } from "../../src/runtime/end-open-spans.ts";
import { type FinishedSpan, shape } from "../../src/trace/finished-span.ts";
import { setDestinations } from "../../src/trace/recorder.ts";
import { beginRolloutScope } from "../../src/trace/rollout-scope.ts";
import { withScope } from "../../src/trace/scope.ts";

/** What was recorded. */
export interface Recorded<T> {
  value: T;
  /** Ended spans in the order of their ends, attributes whole, without those of an answer's tool calls. */
  spans: FinishedSpan[];
  /** The spans of the tool calls that answers asked for. */
  toolCalls: FinishedSpan[];
  /** Outcomes in the same order. */
  outcomes: unknown[];
  /** Spans that were still open when `fn` was done; they have been ended since. */
  open: number;
}

/** `target` behind a proxy that gives methods of its own, which call those of `target`; other wrappers make such objects. */
export function behindProxy<T extends object>(target: T): T {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name);
      if (typeof value === "function") return (...args: unknown[]) => Reflect.apply(value, object, args);
      return typeof value === "object" && value !== null ? behindProxy(value) : value;
    },
  });
}

/** A turn of the event loop, in which promises settle and sockets are read. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Runs `fn` in a rollout of `mode`. */
export async function record<T>(fn: () => Promise<T> | T, mode?: RolloutMode): Promise<Recorded<T>> {
  const spans: FinishedSpan[] = [];
  const toolCalls: FinishedSpan[] = [];
  setDestinations({
    store: (span) => (span.name.startsWith("tool_call.") ? toolCalls : spans).push(span),
  });
  const rollout = beginRolloutScope({ rolloutId: "ro-1", attemptId: "at-1", mode, stored: true });
  try {
    const value = await withScope({ rollout, suppressed: false }, fn);
    const open = rollout.open.size;
    endOpenSpans(rollout.open);
    for (const span of spans) shape(span);
    return { value, spans, toolCalls, outcomes: spans.map((span) => span.attributes[Agl.Outcome]), open };
  } finally {
    setDestinations({});
  }
}
