/**
 * Finished spans for the tests of the export.
 *
 * @module
 */
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { Agl } from "../../src/protocol/semconv.ts";
import type { FinishedSpan } from "../../src/trace/finished-span.ts";

const resource = resourceFromAttributes({ "service.name": "test" });
const scope = { name: "test", version: "1" };
let count = 0;

/** A span of `rollout` named `name`; its attempt is `at-<rollout>` unless `attributes` say otherwise. */
export function finished(
  name: string,
  rollout = "ro-1",
  attributes: Record<string, unknown> = {},
): FinishedSpan {
  count += 1;
  const context = {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: count.toString(16).padStart(16, "0"),
    traceFlags: 1,
  };
  return {
    name,
    kind: SpanKind.INTERNAL,
    spanContext: () => context,
    startTime: [1_700_000_000, count],
    endTime: [1_700_000_001, count],
    duration: [1, 0],
    ended: true,
    status: { code: SpanStatusCode.UNSET },
    attributes: {
      [Agl.RolloutId]: rollout,
      [Agl.AttemptId]: `at-${rollout}`,
      ...attributes,
    } as FinishedSpan["attributes"],
    links: [],
    events: [],
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** `n` spans named `<prefix>0` and on. */
export function many(
  n: number,
  prefix = "s",
  rollout = "ro-1",
  attributes: Record<string, unknown> = {},
): FinishedSpan[] {
  return Array.from({ length: n }, (_, i) => finished(`${prefix}${i}`, rollout, attributes));
}

/** The names that {@link many} gives. */
export function names(n: number, prefix = "s"): string[] {
  return Array.from({ length: n }, (_, i) => `${prefix}${i}`);
}
