/**
 * A span as both OTLP decoders give it, before it is known whose it is.
 *
 * @module
 */
import { AglError } from "../../errors.ts";
import type { SpanAttributes, SpanEvent, SpanLink, SpanResource, SpanStatus } from "../span.ts";

/** One span of an export request. */
export interface OtlpSpan {
  /** 32 hex digits; zeros when the sender gave none. */
  trace_id: string;
  /** 16 hex digits; zeros when the sender gave none. */
  span_id: string;
  parent_id: string | null;
  name: string;
  status: SpanStatus;
  attributes: SpanAttributes;
  events: SpanEvent[];
  links: SpanLink[];
  /** Seconds since the epoch. */
  start_time: number | null;
  end_time: number | null;
}

/** Takes each span as soon as it is decoded, so that one that cannot be placed takes no memory. */
export type SpanVisitor = (span: OtlpSpan, resource: SpanResource) => void;

/** Counts what a payload makes in memory: two bytes on the wire can be an object of a hundred. */
export interface Budget {
  left: number;
}

/** Takes one object out of the budget. */
export function spend(budget: Budget): void {
  if (--budget.left < 0) {
    throw new AglError(
      "payload_too_large",
      "The OTLP payload holds too many spans, events, links or attributes.",
    );
  }
}

/** The status of a code as OTLP numbers it; an unknown code is UNSET. */
export function statusCode(code: number): SpanStatus["status_code"] {
  return code === 1 ? "OK" : code === 2 ? "ERROR" : "UNSET";
}

/** A trace id of 32 digits. */
export function traceId(hex: string): string {
  return hex.padStart(32, "0");
}

/** A span id of 16 digits. */
export function spanId(hex: string): string {
  return hex.padStart(16, "0");
}

/**
 * Nanoseconds, as two unsigned halves, to the nearest float of seconds; null for 0. Like the Python package, takes
 * a number up to 10^12 for seconds.
 */
export function secondsOf(high: number, low: number): number | null {
  const approximate = high * 4294967296 + low;
  if (approximate <= 1e12) return approximate === 0 ? null : approximate;
  let seconds = Math.floor(approximate / 1e9);
  // What is left is below 2^32, so arithmetic modulo 2^32 has it exactly where the sum above is rounded.
  let rest = (low - Math.imul(seconds | 0, 1_000_000_000)) | 0;
  if (rest < 0) {
    seconds -= 1;
    rest += 1_000_000_000;
  } else if (rest >= 1_000_000_000) {
    seconds += 1;
    rest -= 1_000_000_000;
  }
  return seconds + rest / 1e9;
}
