import { ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { type ReadableSpan, TracerProvider } from "@opentelemetry/sdk-trace";
import { beforeEach, describe, expect, test } from "vitest";
import { viewSpan } from "../../src/export/span-view.ts";
import type { FinishedSpan } from "../../src/trace/finished-span.ts";
import { setDestinations, startSpan } from "../../src/trace/recorder.ts";
import { withScope } from "../../src/trace/scope.ts";
import { collect, fakeRollout, inRollout } from "./collect.ts";

let spans: FinishedSpan[];
beforeEach(() => {
  spans = collect();
});

test("a span carries the ids of its rollout, the agent's name and its outcome", () => {
  inRollout("ro-1", () =>
    withScope({ agent: "solver" }, () => startSpan({ name: "x", client: true })?.end()),
  );
  const [span] = spans;
  expect(span?.attributes).toEqual({
    "agentlightning.rollout_id": "ro-1",
    "agentlightning.attempt_id": "at-ro-1",
    "agent.name": "solver",
    "gen_ai.agent.name": "solver",
    "agentlightning.outcome": "ok",
  });
  expect(span?.status).toEqual({ code: 1 });
  expect(span?.kind).toBe(2);
  expect(span?.parentSpanContext).toBeUndefined();
});

test("a child takes its parent's rollout and agent, not those of the code that starts it", () => {
  const parent = inRollout("ro-1", () => withScope({ agent: "a" }, () => startSpan({ name: "parent" })));
  inRollout("ro-2", () => withScope({ agent: "b" }, () => startSpan({ name: "child", parent })?.end()));
  parent?.end();
  const [child, first] = spans;
  expect(child?.attributes["agentlightning.rollout_id"]).toBe("ro-1");
  expect(child?.attributes["agent.name"]).toBe("a");
  expect(child?.parentSpanContext?.spanId).toBe(first?.spanContext().spanId);
  expect(child?.spanContext().traceId).toBe(first?.spanContext().traceId);
});

test("nothing is recorded outside rollouts, in local rollouts, and in suppressed scopes", () => {
  expect(startSpan({ name: "x" })).toBeUndefined();
  withScope({ rollout: fakeRollout("ro-1", { stored: false }) }, () => {
    expect(startSpan({ name: "x" })).toBeUndefined();
  });
  inRollout("ro-1", () =>
    withScope({ suppressed: true }, () => expect(startSpan({ name: "x" })).toBeUndefined()),
  );
  expect(spans).toHaveLength(0);
});

test("exporters get every span, the store only those of its rollouts", () => {
  const exported: string[] = [];
  const stored: string[] = [];
  setDestinations({ store: (span) => stored.push(span.name), exporters: (span) => exported.push(span.name) });
  startSpan({ name: "outside" })?.end();
  inRollout("ro-1", () => startSpan({ name: "inside" })?.end());
  withScope({ rollout: fakeRollout("ro-1", { stored: false }) }, () => startSpan({ name: "local" })?.end());
  expect(exported).toEqual(["outside", "inside", "local"]);
  expect(stored).toEqual(["inside"]);
});

test("a span that starts after the end of its rollout is kept and marked", () => {
  withScope({ rollout: fakeRollout("ro-1", { ended: true }) }, () => startSpan({ name: "x" })?.end());
  expect(spans[0]?.attributes["agentlightning.late"]).toBe(true);
});

describe("the end", () => {
  test("happens once, and nothing is set after it", () => {
    inRollout("ro-1", () => {
      const span = startSpan({ name: "x" });
      span?.end();
      span?.end({ outcome: "error", error: new Error("late") });
      span?.setAttribute("late", 1);
      expect(span?.ended).toBe(true);
    });
    expect(spans).toHaveLength(1);
    expect(spans[0]?.attributes["agentlightning.outcome"]).toBe("ok");
    expect(spans[0]?.attributes["late"]).toBeUndefined();
  });

  class RateLimitError extends Error {}
  const thrown = [
    { error: new RateLimitError("slow down"), type: "RateLimitError", message: "slow down" },
    { error: "text", type: "string", message: "text" },
    { error: { message: "plain" }, type: "Object", message: "plain" },
    { error: Object.create(null), type: "Error", message: "(the error could not be read)" },
    { error: null, type: "object", message: "null" },
  ];
  for (const { error, type, message } of thrown) {
    test(`records ${type} as the error`, () => {
      inRollout("ro-1", () => startSpan({ name: "x" })?.end({ outcome: "error", error }));
      expect(spans[0]?.attributes["error.type"]).toBe(type);
      expect(spans[0]?.status).toEqual({ code: 2, message });
      expect(spans[0]?.events[0]?.attributes?.["exception.message"]).toBe(message);
    });
  }

  for (const outcome of ["aborted", "cancelled", "incomplete", "superseded"] as const) {
    test(`${outcome} is neither ok nor an error`, () => {
      inRollout("ro-1", () => startSpan({ name: "x" })?.end({ outcome }));
      expect(spans[0]?.status).toEqual({ code: 0 });
      expect(spans[0]?.attributes["agentlightning.outcome"]).toBe(outcome);
    });
  }

  test("late attributes are shaped once, and a fault in them is noted", () => {
    let calls = 0;
    inRollout("ro-1", () => {
      startSpan({ name: "x" })?.end({ outcome: "ok", late: () => ({ calls: ++calls }) });
      startSpan({ name: "y" })?.end({
        outcome: "ok",
        late: () => {
          throw new Error("bad");
        },
      });
    });
    expect(spans.map((span) => span.attributes["calls"])).toEqual([1, undefined]);
    expect(spans[1]?.attributes["agentlightning.capture.error"]).toBe("Error: bad");
  });
});

test("no limit on the number of attributes", () => {
  const attributes = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`a${i}`, i]));
  inRollout("ro-1", () => startSpan({ name: "x", attributes })?.end());
  expect(Object.keys(spans[0]?.attributes ?? {})).toHaveLength(1_003);
});

test("a span reads like one of OpenTelemetry's own SDK", () => {
  const startTime: [number, number] = [1_700_000_000, 999_999_000];
  const endTime: [number, number] = [1_700_000_002, 1_000];
  const error = new TypeError("no");
  inRollout("ro-1", () => {
    const parent = startSpan({ name: "parent" });
    startSpan({ name: "x", client: true, parent, startTime })?.end({ outcome: "error", error, endTime });
  });
  const [own] = spans as [FinishedSpan];
  const theirs: ReadableSpan[] = [];
  const provider = new TracerProvider({
    resource: own.resource,
    spanProcessors: [
      {
        onStart() {},
        onEnd: (span) => theirs.push(span),
        forceFlush: async () => {},
        shutdown: async () => {},
      },
    ],
  });
  const span = provider
    .getTracer(own.instrumentationScope.name)
    .startSpan(
      "x",
      { kind: SpanKind.CLIENT, startTime, attributes: own.attributes },
      trace.setSpanContext(ROOT_CONTEXT, own.parentSpanContext as SpanContext),
    );
  span.recordException(error, endTime);
  span.setStatus({ code: SpanStatusCode.ERROR, message: "no" });
  span.end(endTime);
  const { spanContext, ...sdk } = viewSpan(theirs[0] as ReadableSpan);
  const { spanContext: ownContext, ...mine } = viewSpan(own);
  expect(mine).toEqual(sdk);
  expect(ownContext()).toEqual({ ...spanContext(), spanId: own.spanContext().spanId });
  expect(own.spanContext().spanId).toMatch(/^[0-9a-f]{16}$/);
  expect(own.spanContext().traceId).toMatch(/^[0-9a-f]{32}$/);
});

test("a span whose start was given in the future has no length", () => {
  const startTime: [number, number] = [4_000_000_000, 5];
  inRollout("ro-1", () => startSpan({ name: "x", startTime })?.end());
  expect(spans[0]).toMatchObject({ startTime, endTime: startTime, duration: [0, 0] });
});

test("a span ends after it starts, and the next one starts after that", () => {
  inRollout("ro-1", () => {
    for (let i = 0; i < 200; i++) startSpan({ name: "x" })?.end();
  });
  const times = spans.flatMap(({ startTime, endTime }) => [startTime, endTime]).map(([s, n]) => s + n / 1e9);
  for (let i = 1; i < times.length; i++) expect(times[i]).toBeGreaterThan(times[i - 1] as number);
});
