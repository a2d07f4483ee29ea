/**
 * Takes spans of the app's own tracer provider into the rollout that they belong to.
 *
 * @module
 */
import type { Attributes } from "@opentelemetry/api";
import { AGENT_NAME, Agl } from "../protocol/semconv.ts";
import type { FinishedSpan } from "../trace/finished-span.ts";
import { isNative, noteNative } from "../trace/native-spans.ts";
import type { RolloutScope } from "../trace/rollout-scope.ts";
import type { Scope } from "../trace/scope.ts";
import type { SpanSink } from "./sink.ts";
import { type AnySpan, viewSpan } from "./span-view.ts";

/** A span that has started, as the SDK 1.x, 2.x or 3.x hands it over. */
export interface StartedSpan {
  spanContext(): { traceId: string; spanId: string };
  readonly attributes?: Attributes;
  readonly parentSpanContext?: { traceId: string; spanId: string };
  readonly parentSpanId?: string;
}

/** A span processor that the tracer providers of SDK 1.x, 2.x and 3.x accept. */
export interface RolloutSpanProcessor {
  onStart(span: StartedSpan, parentContext?: unknown): void;
  onEnd(span: AnySpan): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** What {@link createSpanProcessor} works with. */
export interface SpanProcessorOptions {
  /** Where spans of stored rollouts go. */
  sink: SpanSink | (() => SpanSink | undefined);
  currentScope: () => Scope | undefined;
}

interface Owner {
  rollout: RolloutScope;
  agent: string | undefined;
}

/** Spans that are open at once, most: one that never ends must not be kept for ever. */
const MAX_OPEN = 10_000;

/**
 * A processor for the app's own tracer provider: a span that starts inside a rollout, or under a span of one, goes to
 * `sink` with the rollout's ids when it ends; all others are left alone, and so are those that an SDK makes of a model
 * call which is recorded by itself. It never throws, and the provider's
 * `shutdown` delivers but does not close the sink, which has other users.
 */
export function createSpanProcessor(options: SpanProcessorOptions): RolloutSpanProcessor {
  const { currentScope } = options;
  const open = new Map<string, Owner>();
  const sinkNow = () => (typeof options.sink === "function" ? options.sink() : options.sink);
  const keyOf = (traceId: string, spanId: string) => `${traceId}/${spanId}`;

  // A child belongs where its parent does, whatever code it happens to run in.
  const ownerOf = (span: StartedSpan): Owner | undefined => {
    const parentId = span.parentSpanContext?.spanId ?? span.parentSpanId;
    const parent = parentId === undefined ? undefined : open.get(keyOf(span.spanContext().traceId, parentId));
    if (parent !== undefined) return parent;
    const scope = currentScope();
    return scope?.rollout?.stored ? { rollout: scope.rollout, agent: scope.agent } : undefined;
  };

  return {
    onStart(span) {
      const owner = ownerOf(span);
      if (owner === undefined) return;
      noteNative(span);
      const { traceId, spanId } = span.spanContext();
      open.set(keyOf(traceId, spanId), owner);
      if (open.size > MAX_OPEN) open.delete(open.keys().next().value as string);
    },
    onEnd(span) {
      try {
        const { traceId, spanId } = span.spanContext();
        const key = keyOf(traceId, spanId);
        const owner = open.get(key);
        if (owner === undefined) return;
        open.delete(key);
        if (isNative(span)) return;
        const { rollout, agent } = owner;
        // Not set on the span itself, where its limit of attributes or another processor could take them away again.
        const attributes: Attributes = {
          ...(agent !== undefined && { [AGENT_NAME]: agent }),
          ...span.attributes,
          [Agl.RolloutId]: rollout.rolloutId,
          [Agl.AttemptId]: rollout.attemptId,
          ...(rollout.ended && { [Agl.Late]: true }),
        };
        sinkNow()?.add(viewSpan(span, attributes) as FinishedSpan);
      } catch {
        // A span in a shape that nobody knows yet: the app's own exporters are not disturbed.
      }
    },
    async forceFlush() {
      await sinkNow()?.flush();
    },
    async shutdown() {
      open.clear();
      await sinkNow()?.flush();
    },
  };
}
