/**
 * A span that has not ended: the handle that capture code works with.
 *
 * @module
 */
import type { Attributes, AttributeValue } from "../protocol/json.ts";
import type { Outcome } from "../protocol/semconv.ts";
import type { Timestamp } from "./clock.ts";
import type { RolloutScope } from "./rollout-scope.ts";

/** What a span starts with. */
export interface SpanStart {
  name: string;
  /** True for a call that leaves the process (OpenTelemetry kind CLIENT). */
  client?: boolean;
  attributes?: Attributes;
  /** Start time, when it is not now. */
  startTime?: Timestamp;
  /** Agent name, when it is not the scope's. */
  agent?: string | undefined;
  /** The parent, when it is not the scope's span; the span belongs to the parent's rollout and agent. */
  parent?: OpenSpan | undefined;
}

/** How a span ends. */
export interface SpanEnd {
  outcome: Outcome;
  /** The error that ended it; recorded as `exception` event and `error.type`. */
  error?: unknown;
  /** End time, when it is not now. */
  endTime?: Timestamp;
  /**
   * Makes the attributes that take time to shape. Called once, after the span's end, before it is exported; it must
   * work only on values that nobody changes any more.
   */
  late?: () => Attributes;
  /** Bytes that the late attributes will take, about; bounds the queue's memory. */
  lateBytes?: number;
}

/** A span that is running. Every method is safe to call after the end, and does nothing then. */
export interface OpenSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly name: string;
  readonly rollout: RolloutScope | undefined;
  /** Name of the agent that the span is part of. */
  readonly agent: string | undefined;
  readonly ended: boolean;
  setAttribute(name: string, value: AttributeValue): void;
  setAttributes(attributes: Attributes): void;
  end(end?: SpanEnd): void;
  /**
   * Called when the rollout ends while the span is still open, in place of an end with outcome `incomplete`. It must
   * call {@link OpenSpan.end}; what was gathered so far is not lost that way.
   */
  onForcedEnd: (() => void) | undefined;
}
