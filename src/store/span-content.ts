/**
 * A span as backends keep it: what is looked up has a column of its own, the rest is its content, in one of two forms.
 * A span that came over OTLP stays in the bytes in which it came until it is read; any other is JSON.
 *
 * @module
 */
import type { JsonObject } from "../protocol/json.ts";
import { decodeTracesProto } from "../protocol/otlp/decode-proto.ts";
import type { Span } from "../protocol/span.ts";
import type { SpanInput } from "./interface.ts";
import { type SpanColumns, type SpanContent, toJsonText } from "./rows.ts";

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
export function spanText(span: SpanInput): string {
  // Named one by one and not by `...rest`: this runs for every span, and costs half as much.
  const { status, attributes, events, links, context, parent, resource } = span;
  const rest: Record<string, unknown> = { status, attributes, events, links, context, parent, resource };
  for (const name of Object.keys(span)) {
    if (!Object.hasOwn(FIELDS, name)) rest[name] = span[name as keyof SpanInput];
  }
  return toJsonText(rest);
}

/** The span that the columns and the content came from. */
export function spanFrom(columns: SpanColumns, content: SpanContent): Span {
  const { rollout_id, attempt_id, sequence_id, trace_id, span_id, parent_id, name, start_time, end_time } =
    columns;
  return {
    rollout_id,
    attempt_id,
    sequence_id,
    trace_id,
    span_id,
    parent_id,
    name,
    start_time,
    end_time,
    ...(typeof content === "string" ? (JSON.parse(content) as JsonObject) : decode(columns, content)),
  } as Span;
}

/** The fields without a column of a span that OTLP carried. */
function decode({ trace_id, span_id }: SpanColumns, content: Uint8Array): Partial<Span> {
  let fields: Partial<Span> = {};
  // What a budget guards against was refused when the span arrived.
  decodeTracesProto(content, { left: Number.POSITIVE_INFINITY }, (span, resource) => {
    const { status, attributes, events, links } = span;
    const context = { trace_id, span_id, is_remote: false, trace_state: {} };
    fields = { status, attributes, events, links, context, parent: null, resource };
  });
  return fields;
}
