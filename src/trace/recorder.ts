/**
 * Starts and ends spans. The OpenTelemetry tracer behind it is private to this package: nothing is registered
 * globally, and no `OTEL_*` variable has an effect (`sdk-trace`'s provider reads none; sampler and limits are set here).
 *
 * @module
 */
import { type Context, ROOT_CONTEXT, type Span, SpanKind, TraceFlags, trace } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { type ReadableSpan, SamplingDecision, TracerProvider } from "@opentelemetry/sdk-trace";
import { randomHex } from "../internal/ids.ts";
import { ownGlobal } from "../internal/own-global.ts";
import { AGENT_NAME, Agl, GenAi, SpanName } from "../protocol/semconv.ts";
import { now } from "./clock.ts";
import { type FinishedSpan, setLate } from "./finished-span.ts";
import type { OpenSpan, SpanEnd, SpanStart } from "./open-span.ts";
import type { RolloutScope } from "./rollout-scope.ts";
import { currentScope } from "./scope.ts";
import { describeError } from "./span-error.ts";

/** Receives each finished span; `rollout` is undefined outside rollouts. Must not throw. */
export type SpanReceiver = (span: FinishedSpan, rollout: RolloutScope | undefined) => void;

interface Destinations {
  /** Spans of stored rollouts. */
  store: SpanReceiver | undefined;
  /** All spans, inside and outside rollouts. */
  exporters: SpanReceiver | undefined;
  /** Open spans outside rollouts, ended at shutdown. */
  readonly open: Set<OpenSpan>;
}

const destinations = ownGlobal<Destinations>("destinations", () => ({
  store: undefined,
  exporters: undefined,
  open: new Set(),
}));

/** Says where finished spans go from now on. */
export function setDestinations(to: {
  store?: SpanReceiver | undefined;
  exporters?: SpanReceiver | undefined;
}): void {
  destinations.store = to.store;
  destinations.exporters = to.exporters;
}

/** Open spans that belong to no rollout. */
export function openOutsideRollouts(): ReadonlySet<OpenSpan> {
  return destinations.open;
}

// Of every copy of this package: a span may be started by one and handed on by another.
const ROLLOUT = Symbol.for("agentlightning.rollout");
type Owned = Span & FinishedSpan & { [ROLLOUT]?: RolloutScope | undefined };

const tracer = ownGlobal("tracer", () =>
  new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": "agentlightning",
      "telemetry.sdk.language": "nodejs",
      [Agl.TracerName]: "agentlightning-ts",
    }),
    sampler: {
      shouldSample: () => ({ decision: SamplingDecision.RECORD_AND_SAMPLED }),
      toString: () => "AlwaysOn",
    },
    // A conversation of 64 messages has more attributes than the SDK's default limit of 128.
    spanLimits: {
      attributeCountLimit: Infinity,
      eventCountLimit: Infinity,
      linkCountLimit: Infinity,
      attributePerEventCountLimit: Infinity,
      attributePerLinkCountLimit: Infinity,
    },
    idGenerator: { generateTraceId: () => randomHex(16), generateSpanId: () => randomHex(8) },
    spanProcessors: [
      {
        onStart() {},
        onEnd(span: ReadableSpan) {
          const finished = span as Owned;
          const rollout = finished[ROLLOUT];
          if (rollout?.stored === true) destinations.store?.(finished, rollout);
          destinations.exporters?.(finished, rollout);
        },
        forceFlush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
      },
    ],
  }).getTracer("agentlightning"),
);

/** True when a span started in a scope with `rollout` would go anywhere. */
export function isRecording(rollout: RolloutScope | undefined): boolean {
  return (
    destinations.exporters !== undefined || (rollout?.stored === true && destinations.store !== undefined)
  );
}

/**
 * Starts a span in the current scope; undefined when nobody would receive it, or when an outer layer records the call.
 */
export function startSpan(start: SpanStart): OpenSpan | undefined {
  const scope = currentScope();
  if (scope?.suppressed === true) return undefined;
  const parent = start.parent ?? scope?.span;
  // A child belongs to its parent's rollout, wherever the code that starts it runs.
  const rollout = parent?.rollout ?? scope?.rollout;
  if (!isRecording(rollout)) return undefined;
  const span = tracer.startSpan(
    start.name,
    {
      kind: start.client === true ? SpanKind.CLIENT : SpanKind.INTERNAL,
      startTime: start.startTime ?? now(),
    },
    parent === undefined ? ROOT_CONTEXT : contextOf(parent),
  ) as Owned;
  // Written past the SDK's checks, which cost more than the rest of the start: these values are our own scalars.
  const attributes = span.attributes;
  if (rollout !== undefined) {
    span[ROLLOUT] = rollout;
    attributes[Agl.RolloutId] = rollout.rolloutId;
    attributes[Agl.AttemptId] = rollout.attemptId;
    if (rollout.ended) attributes[Agl.Late] = true;
  }
  const agent = start.agent ?? (start.parent === undefined ? scope?.agent : start.parent.agent);
  if (agent !== undefined) {
    attributes[AGENT_NAME] = agent;
    attributes[GenAi.AgentName] = agent;
  }
  const open = new RecordedSpan(span, start.name, rollout, agent);
  if (start.attributes !== undefined) open.setAttributes(start.attributes);
  (rollout?.open ?? destinations.open).add(open);
  if (start.name === SpanName.ModelCall) {
    for (let inner = scope?.inner; inner !== undefined; inner = inner.outer) inner.calls++;
  }
  return open;
}

const contexts = new WeakMap<OpenSpan, Context>();

/** The OpenTelemetry context in which the children of `span` start; made once, for a rollout has many. */
function contextOf(span: OpenSpan): Context {
  let context = contexts.get(span);
  if (context === undefined) {
    context = trace.setSpanContext(ROOT_CONTEXT, {
      traceId: span.traceId,
      spanId: span.spanId,
      traceFlags: TraceFlags.SAMPLED,
    });
    contexts.set(span, context);
  }
  return context;
}

class RecordedSpan implements OpenSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly name: string;
  readonly rollout: RolloutScope | undefined;
  readonly agent: string | undefined;
  ended = false;
  onForcedEnd: (() => void) | undefined = undefined;
  readonly #span: Owned;

  constructor(span: Owned, name: string, rollout: RolloutScope | undefined, agent: string | undefined) {
    const context = span.spanContext();
    this.traceId = context.traceId;
    this.spanId = context.spanId;
    this.name = name;
    this.rollout = rollout;
    this.agent = agent;
    this.#span = span;
  }

  setAttribute(name: string, value: SpanAttributeValue): void {
    if (!this.ended) this.#span.attributes[name] = value;
  }

  setAttributes(attributes: Record<string, SpanAttributeValue>): void {
    if (this.ended) return;
    const own = this.#span.attributes;
    for (const name in attributes) own[name] = attributes[name];
  }

  end(end: SpanEnd = { outcome: "ok" }): void {
    if (this.ended) return;
    const span = this.#span;
    const endTime = end.endTime ?? now();
    span.attributes[Agl.Outcome] = end.outcome;
    if (end.error !== undefined) {
      const error = describeError(end.error);
      span.attributes["error.type"] = error.type;
      span.addEvent("exception", error.attributes, endTime);
      if (end.outcome === "error") span.setStatus({ code: 2, message: error.message });
    } else if (end.outcome === "error") {
      span.setStatus({ code: 2 });
    }
    if (end.outcome === "ok" || end.outcome === "truncated") span.setStatus({ code: 1 });
    if (end.late !== undefined) setLate(span, { make: end.late, bytes: end.lateBytes ?? 0 });
    this.ended = true;
    this.onForcedEnd = undefined;
    (this.rollout?.open ?? destinations.open).delete(this);
    span.end(endTime);
  }
}

type SpanAttributeValue = Parameters<OpenSpan["setAttribute"]>[1];
