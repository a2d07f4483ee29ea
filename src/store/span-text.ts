/**
 * A span as the text that backends keep: what is looked up has a column of its own, the rest is one JSON text.
 *
 * @module
 */
import type { JsonObject } from "../protocol/json.ts";
import type { Span } from "../protocol/span.ts";

/** Fields of a span that have a column. */
export type SpanColumns = Pick<
  Span,
  | "rollout_id"
  | "attempt_id"
  | "sequence_id"
  | "trace_id"
  | "span_id"
  | "parent_id"
  | "name"
  | "start_time"
  | "end_time"
>;

/** All fields without a column, extra ones included, as JSON. */
export function spanText(span: Span): string {
  const {
    rollout_id: _rollout,
    attempt_id: _attempt,
    sequence_id: _sequence,
    trace_id: _trace,
    span_id: _span,
    parent_id: _parent,
    name: _name,
    start_time: _start,
    end_time: _end,
    ...rest
  } = span;
  return JSON.stringify(rest);
}

/** The span that the columns and the text came from. */
export function spanFrom(columns: SpanColumns, text: string): Span {
  const rest = JSON.parse(text) as JsonObject;
  return {
    rollout_id: columns.rollout_id,
    attempt_id: columns.attempt_id,
    sequence_id: columns.sequence_id,
    trace_id: columns.trace_id,
    span_id: columns.span_id,
    parent_id: columns.parent_id,
    name: columns.name,
    start_time: columns.start_time,
    end_time: columns.end_time,
    ...rest,
  } as Span;
}
