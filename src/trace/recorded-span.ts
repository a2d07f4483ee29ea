/**
 * The one object of a span: what capture code writes to while it runs, and what exporters read when it has ended. The
 * OpenTelemetry SDK's own span costs more than the rest of a call's capture: it samples, counts and checks what is
 * known here.
 *
 * @module
 */
import { type SpanContext, SpanKind, type SpanStatus, TraceFlags } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { randomHex } from "../internal/ids.ts";
import { ownGlobal } from "../internal/own-global.ts";
import type { Attributes, AttributeValue } from "../protocol/json.ts";
import { Agl } from "../protocol/semconv.ts";
import { now, type Timestamp } from "./clock.ts";
import { type FinishedSpan, setLate } from "./finished-span.ts";
import type { OpenSpan, SpanEnd, SpanStart } from "./open-span.ts";
import type { RolloutScope } from "./rollout-scope.ts";
import { describeError } from "./span-error.ts";

/** A span of this package, running or ended. */
export type RecordedSpan = OpenSpan & FinishedSpan;

/** What a span is made with, beyond its {@link SpanStart}. */
export interface SpanPlace {
  parent: OpenSpan | undefined;
  rollout: RolloutScope | undefined;
  agent: string | undefined;
  attributes: Attributes;
  /** Told of the end, once. */
  onEnd: (span: RecordedSpan) => void;
}

/** A span that starts now, or when `start` says. */
export function recordSpan(start: SpanStart, place: SpanPlace): RecordedSpan {
  return new Recorded(start, place);
}

/** The same for every copy of this package: an export groups spans by it. */
const origin = ownGlobal("origin", () => ({
  resource: resourceFromAttributes({
    "service.name": "agentlightning",
    "telemetry.sdk.language": "nodejs",
    [Agl.TracerName]: "agentlightning-ts",
  }),
  scope: { name: "agentlightning" },
}));

class Recorded implements RecordedSpan {
  readonly traceId: string;
  readonly spanId = randomHex(8);
  readonly name: string;
  readonly kind: SpanKind;
  readonly rollout: RolloutScope | undefined;
  readonly agent: string | undefined;
  readonly attributes: Attributes;
  readonly startTime: Timestamp;
  endTime: Timestamp;
  status: SpanStatus = { code: 0 };
  ended = false;
  onForcedEnd: (() => void) | undefined = undefined;
  readonly #parentId: string | undefined;
  readonly #onEnd: SpanPlace["onEnd"];
  #exception: ReadableSpan["events"][number] | undefined = undefined;

  constructor(start: SpanStart, place: SpanPlace) {
    const { parent } = place;
    this.traceId = parent === undefined ? randomHex(16) : parent.traceId;
    this.name = start.name;
    this.kind = start.client === true ? SpanKind.CLIENT : SpanKind.INTERNAL;
    this.rollout = place.rollout;
    this.agent = place.agent;
    this.attributes = place.attributes;
    this.startTime = start.startTime ?? now();
    this.endTime = this.startTime;
    this.#parentId = parent?.spanId;
    this.#onEnd = place.onEnd;
  }

  spanContext(): SpanContext {
    return { traceId: this.traceId, spanId: this.spanId, traceFlags: TraceFlags.SAMPLED };
  }

  get parentSpanContext(): SpanContext | undefined {
    const spanId = this.#parentId;
    if (spanId === undefined) return undefined;
    return { traceId: this.traceId, spanId, traceFlags: TraceFlags.SAMPLED };
  }

  get duration(): Timestamp {
    const seconds = this.endTime[0] - this.startTime[0];
    const nanos = this.endTime[1] - this.startTime[1];
    return nanos < 0 ? [seconds - 1, nanos + 1_000_000_000] : [seconds, nanos];
  }

  get resource() {
    return origin.resource;
  }

  get instrumentationScope() {
    return origin.scope;
  }

  // An array of its own for each reader: an exporter may write to what it gets.
  get events(): ReadableSpan["events"] {
    return this.#exception === undefined ? [] : [this.#exception];
  }

  get links(): ReadableSpan["links"] {
    return [];
  }

  get droppedAttributesCount() {
    return 0;
  }

  get droppedEventsCount() {
    return 0;
  }

  get droppedLinksCount() {
    return 0;
  }

  setAttribute(name: string, value: AttributeValue): void {
    if (!this.ended) this.attributes[name] = value;
  }

  setAttributes(attributes: Attributes): void {
    if (this.ended) return;
    const own = this.attributes;
    for (const name in attributes) own[name] = attributes[name] as AttributeValue;
  }

  end(end: SpanEnd = { outcome: "ok" }): void {
    if (this.ended) return;
    const { outcome, error, endTime = now(), late } = end;
    // A start in the future was given by hand: the span has no length then.
    if (isAfter(endTime, this.startTime)) this.endTime = endTime;
    this.attributes[Agl.Outcome] = outcome;
    if (outcome === "ok" || outcome === "truncated") this.status = { code: 1 };
    else if (outcome === "error") this.status = { code: 2 };
    if (error !== undefined) {
      const { type, message, attributes } = describeError(error);
      this.attributes["error.type"] = type;
      this.#exception = { name: "exception", attributes, time: endTime, droppedAttributesCount: 0 };
      if (outcome === "error") this.status = { code: 2, message };
    }
    if (late !== undefined) setLate(this, { make: late, bytes: end.lateBytes ?? 0 });
    this.ended = true;
    this.onForcedEnd = undefined;
    this.#onEnd(this);
  }
}

function isAfter(time: Timestamp, other: Timestamp): boolean {
  return time[0] > other[0] || (time[0] === other[0] && time[1] > other[1]);
}
