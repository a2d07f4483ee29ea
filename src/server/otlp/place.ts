/**
 * Whose span it is: the ids of rollout and attempt among a span's attributes, else among its resource's.
 *
 * @module
 */
import type { Json } from "../../protocol/json.ts";
import { wantedNames } from "../../protocol/otlp/scan-proto.ts";
import { Agl } from "../../protocol/semconv.ts";
import type { SpanAttributes } from "../../protocol/span.ts";

const NO_SPAN_ID = "0".repeat(16);

/** The attributes that decide. */
export const PLACING = wantedNames([Agl.RolloutId, Agl.AttemptId, Agl.SequenceId]);

/** A span's place in the store. */
export interface Place {
  rollout_id: string;
  attempt_id: string;
  /** Null: left to the store. */
  sequence_id: number | null;
}

/** A span's place, or why it has none. `shared` are its resource's attributes. */
export function placeOf(
  span: { span_id: string; attributes: SpanAttributes },
  shared: SpanAttributes,
): Place | string {
  const rolloutId = idOf(Agl.RolloutId, span.attributes, shared);
  if (rolloutId === undefined) return `no attribute ${Agl.RolloutId}`;
  const attemptId = idOf(Agl.AttemptId, span.attributes, shared);
  if (attemptId === undefined) return `no attribute ${Agl.AttemptId}`;
  // All spans without an id would count as one and the same.
  if (span.span_id === NO_SPAN_ID) return "no span id";
  return {
    rollout_id: rolloutId,
    attempt_id: attemptId,
    sequence_id: sequenceOf(attribute(Agl.SequenceId, span.attributes, shared)),
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

/** A number that is missing, negative or not a number is null. */
function sequenceOf(value: Json | undefined): number | null {
  if (typeof value !== "string" && typeof value !== "number") return null;
  const text = String(value).trim();
  const number = /^\+?\d+$/.test(text) ? Number(text) : -1;
  return Number.isSafeInteger(number) && number > 0 ? number : null;
}
