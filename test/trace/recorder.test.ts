import { beforeEach, describe, expect, test } from "vitest";
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

test("a span ends after it starts, and the next one starts after that", () => {
  inRollout("ro-1", () => {
    for (let i = 0; i < 200; i++) startSpan({ name: "x" })?.end();
  });
  const times = spans.flatMap(({ startTime, endTime }) => [startTime, endTime]).map(([s, n]) => s + n / 1e9);
  for (let i = 1; i < times.length; i++) expect(times[i]).toBeGreaterThan(times[i - 1] as number);
});
