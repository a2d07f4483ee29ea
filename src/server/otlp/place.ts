/**
 * Whose span it is: the ids of rollout and attempt among a span's attributes, else among its resource's.
 *
 * @module
 */
import type { Json } from "../../protocol/json.ts";
import type { OtlpSpan } from "../../protocol/otlp/otlp-span.ts";
import { Agl } from "../../protocol/semconv.ts";
import type { SpanAttributes, SpanResource } from "../../protocol/span.ts";
import type { SpanInput } from "../../store/interface.ts";

const NO_SPAN_ID = "0".repeat(16);

/** The span with its place in the store, or why it has none. */
export type Placed = { span: SpanInput } | { reason: string };

/** Finds a span's place. A sequence number that is missing, negative or not a number is left to the store. */
export function place(span: OtlpSpan, resource: SpanResource): Placed {
  const rolloutId = idOf(Agl.RolloutId, span.attributes, resource.attributes);
  if (rolloutId === undefined) return { reason: `no attribute ${Agl.RolloutId}` };
  const attemptId = idOf(Agl.AttemptId, span.attributes, resource.attributes);
  if (attemptId === undefined) return { reason: `no attribute ${Agl.AttemptId}` };
  // All spans without an id would count as one and the same.
  if (span.span_id === NO_SPAN_ID) return { reason: "no span id" };
  const { trace_id, span_id } = span;
  return {
    span: {
      rollout_id: rolloutId,
      attempt_id: attemptId,
      sequence_id: sequenceOf(attribute(Agl.SequenceId, span.attributes, resource.attributes)),
      ...span,
      context: { trace_id, span_id, is_remote: false, trace_state: {} },
      // OTLP carries the parent's id alone.
      parent: null,
      resource,
    },
  };
}

function attribute(key: string, own: SpanAttributes, shared: SpanAttributes): Json | undefined {
  return own[key] ?? shared[key];
}

function idOf(key: string, own: SpanAttributes, shared: SpanAttributes): string | undefined {
  const value = attribute(key, own, shared);
  const id = typeof value === "string" || typeof value === "number" ? String(value) : "";
  return id === "" ? undefined : id;
}

function sequenceOf(value: Json | undefined): number | null {
  if (typeof value !== "string" && typeof value !== "number") return null;
  const text = String(value).trim();
  const number = /^\+?\d+$/.test(text) ? Number(text) : -1;
  return Number.isSafeInteger(number) && number > 0 ? number : null;
}
