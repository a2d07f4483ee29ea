/**
 * A span as the store keeps it. All 16 keys are always present on the wire: upstream's model requires them.
 *
 * @module
 */
import type { Json } from "./json.ts";

/** Attributes as the store keeps them: scalars and arrays of one scalar type. What else arrives is turned into such (docs/compatibility.md). */
export type SpanAttributes = Record<string, Json>;

/** Status of a span. */
export interface SpanStatus {
  status_code: "UNSET" | "OK" | "ERROR";
  description: string | null;
}

/** Ids that another span or process can refer to. */
export interface SpanContextRef {
  trace_id: string;
  span_id: string;
  is_remote: boolean;
  trace_state: Record<string, string>;
}

/** Something that happened during a span. `timestamp` is seconds since the epoch. */
export interface SpanEvent {
  name: string;
  attributes: SpanAttributes;
  timestamp: number | null;
}

/** A reference from one span to another. */
export interface SpanLink {
  context: SpanContextRef;
  attributes: SpanAttributes | null;
}

/** Who made the span. */
export interface SpanResource {
  attributes: SpanAttributes;
  schema_url: string;
}

/** A span of an attempt. Times are seconds since the epoch as floats. */
export interface Span {
  rollout_id: string;
  attempt_id: string;
  /** Position within the rollout; the order of reading. */
  sequence_id: number;
  /** 32 hex digits. */
  trace_id: string;
  /** 16 hex digits. */
  span_id: string;
  parent_id: string | null;
  name: string;
  status: SpanStatus;
  attributes: SpanAttributes;
  events: SpanEvent[];
  links: SpanLink[];
  start_time: number | null;
  end_time: number | null;
  context: SpanContextRef | null;
  parent: SpanContextRef | null;
  resource: SpanResource;
}
