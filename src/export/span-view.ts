/**
 * One span in every shape that an OpenTelemetry SDK has given it: 1.x knows `parentSpanId` and
 * `instrumentationLibrary`, 2.x and 3.x `parentSpanContext` and `instrumentationScope`.
 *
 * @module
 */
import type { Attributes, SpanContext } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";

/** What a span of any SDK line has. */
export type AnySpan = Omit<ReadableSpan, "parentSpanContext" | "instrumentationScope"> & {
  parentSpanContext?: SpanContext | undefined;
  instrumentationScope?: ReadableSpan["instrumentationScope"];
  parentSpanId?: string;
  instrumentationLibrary?: ReadableSpan["instrumentationScope"];
};

/** A span that exporters of every SDK line understand. */
export type SpanView = ReadableSpan & {
  readonly parentSpanId?: string;
  readonly instrumentationLibrary: ReadableSpan["instrumentationScope"];
};

const UNKNOWN_SCOPE: ReadableSpan["instrumentationScope"] = { name: "unknown" };

/** Who made `span`. */
export function scopeOf(span: AnySpan): ReadableSpan["instrumentationScope"] {
  return span.instrumentationScope ?? span.instrumentationLibrary ?? UNKNOWN_SCOPE;
}

/** Id of the parent of `span`, when it has one. */
export function parentSpanIdOf(span: AnySpan): string | undefined {
  return span.parentSpanContext?.spanId ?? span.parentSpanId;
}

/** Shows `span` in both shapes, with `attributes` in place of its own. */
export function viewSpan(span: AnySpan, attributes: Attributes = span.attributes): SpanView {
  const context = span.spanContext();
  const scope = scopeOf(span);
  const parentSpanId = parentSpanIdOf(span);
  const view: SpanView = {
    name: span.name,
    kind: span.kind,
    spanContext: () => context,
    startTime: span.startTime,
    endTime: span.endTime,
    status: span.status,
    attributes,
    links: span.links,
    events: span.events,
    duration: span.duration,
    ended: true,
    resource: span.resource,
    instrumentationScope: scope,
    instrumentationLibrary: scope,
    droppedAttributesCount: span.droppedAttributesCount ?? 0,
    droppedEventsCount: span.droppedEventsCount ?? 0,
    droppedLinksCount: span.droppedLinksCount ?? 0,
    ...(parentSpanId !== undefined && {
      parentSpanId,
      parentSpanContext: span.parentSpanContext ?? {
        traceId: context.traceId,
        spanId: parentSpanId,
        traceFlags: context.traceFlags,
      },
    }),
  };
  return view;
}
