/**
 * A span as the text that backends keep: what is looked up has a column of its own, the rest is one JSON text.
 *
 * @module
 */
import type { JsonObject } from "../protocol/json.ts";
import type { Span } from "../protocol/span.ts";
import { toJsonText } from "./rows.ts";

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

// Every field of a span, so that what is left is extra.
const FIELDS: Readonly<Record<keyof Span, true>> = {
  rollout_id: true,
  attempt_id: true,
  sequence_id: true,
  trace_id: true,
  span_id: true,
  parent_id: true,
  name: true,
  start_time: true,
  end_time: true,
  status: true,
  attributes: true,
  events: true,
  links: true,
  context: true,
  parent: true,
  resource: true,
};

/** All fields without a column, extra ones included, as JSON. */
export function spanText(span: Span): string {
  // Named one by one and not by `...rest`: this runs for every span, and costs half as much.
  const { status, attributes, events, links, context, parent, resource } = span;
  const rest: Record<string, unknown> = { status, attributes, events, links, context, parent, resource };
  for (const name of Object.keys(span)) {
    if (!Object.hasOwn(FIELDS, name)) rest[name] = span[name as keyof Span];
  }
  return toJsonText(rest);
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
