/**
 * Starts spans and hands ended ones on. Nothing is registered with OpenTelemetry globally, and no `OTEL_*` variable has
 * an effect.
 *
 * @module
 */
import { ownGlobal } from "../internal/own-global.ts";
import type { Attributes, AttributeValue } from "../protocol/json.ts";
import { AGENT_NAME, Agl, GenAi, SpanName } from "../protocol/semconv.ts";
import type { FinishedSpan } from "./finished-span.ts";
import type { OpenSpan, SpanStart } from "./open-span.ts";
import { type RecordedSpan, recordSpan } from "./recorded-span.ts";
import type { RolloutScope } from "./rollout-scope.ts";
import { currentScope } from "./scope.ts";

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
  const attributes: Attributes = {};
  if (rollout !== undefined) {
    attributes[Agl.RolloutId] = rollout.rolloutId;
    attributes[Agl.AttemptId] = rollout.attemptId;
    if (rollout.ended) attributes[Agl.Late] = true;
  }
  const agent = start.agent ?? (start.parent === undefined ? scope?.agent : start.parent.agent);
  if (agent !== undefined) {
    attributes[AGENT_NAME] = agent;
    attributes[GenAi.AgentName] = agent;
  }
  for (const name in start.attributes) attributes[name] = start.attributes[name] as AttributeValue;
  const span = recordSpan(start, { parent, rollout, agent, attributes, onEnd: handOn });
  (rollout?.open ?? destinations.open).add(span);
  if (start.name === SpanName.ModelCall) {
    for (let inner = scope?.inner; inner !== undefined; inner = inner.outer) inner.calls++;
  }
  return span;
}

function handOn(span: RecordedSpan): void {
  const { rollout } = span;
  (rollout?.open ?? destinations.open).delete(span);
  if (rollout?.stored === true) destinations.store?.(span, rollout);
  destinations.exporters?.(span, rollout);
}
