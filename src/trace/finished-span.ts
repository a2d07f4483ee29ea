/**
 * A finished span: OpenTelemetry's `ReadableSpan`, with attributes that may still have to be shaped.
 *
 * @module
 */
import type { SpanContext } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import type { Attributes, AttributeValue } from "../protocol/json.ts";

/** Attributes of an ended span that are shaped only when it is exported, off the path of the user's call. */
export interface LateAttributes {
  /** Makes a fresh object, which becomes the span's own. */
  make: () => Attributes;
  /** Bytes that they will take, about. */
  bytes: number;
}

const LATE = Symbol.for("agentlightning.late");

/** A span that has ended. */
export type FinishedSpan = Omit<ReadableSpan, "parentSpanContext"> & {
  readonly parentSpanContext?: SpanContext | undefined;
  [LATE]?: LateAttributes | undefined;
};

/** Hangs late attributes on a span. */
export function setLate(span: FinishedSpan, late: LateAttributes): void {
  span[LATE] = late;
}

/** Shapes the late attributes, once; afterwards `span.attributes` is whole. Never throws: a maker's fault is recorded. */
export function shape(span: FinishedSpan): void {
  const late = span[LATE];
  if (late === undefined) return;
  span[LATE] = undefined;
  try {
    const made = late.make();
    const early = span.attributes;
    for (const name in early) if (!(name in made)) made[name] = early[name] as AttributeValue;
    // The other way round, hundreds of attributes of a long conversation would be copied for a handful.
    (span as { attributes: Attributes }).attributes = made;
  } catch (error) {
    span.attributes["agentlightning.capture.error"] = String(error);
  }
}

/** Bytes that the span takes, about: a bound for queues, not the exact size on the wire. */
export function approximateBytes(span: FinishedSpan): number {
  let bytes = 400 + (span[LATE]?.bytes ?? 0);
  for (const name in span.attributes) {
    const value = span.attributes[name];
    bytes +=
      name.length +
      (typeof value === "string" ? value.length * 2 : Array.isArray(value) ? value.length * 8 : 8);
  }
  return bytes;
}
