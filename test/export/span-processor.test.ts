import { TracerProvider } from "@opentelemetry/sdk-trace";
import { beforeEach, describe, expect, it } from "vitest";
import type { SpanSink } from "../../src/export/sink.ts";
import { createSpanProcessor, type StartedSpan } from "../../src/export/span-processor.ts";
import type { AnySpan } from "../../src/export/span-view.ts";
import { AGENT_NAME, Agl } from "../../src/protocol/semconv.ts";
import type { FinishedSpan } from "../../src/trace/finished-span.ts";
import type { RolloutScope } from "../../src/trace/rollout-scope.ts";
import { currentScope, withScope } from "../../src/trace/scope.ts";
import { fakeRollout } from "../trace/collect.ts";
import { finished } from "./finished.ts";

let got: FinishedSpan[];
let flushes: number;
let shutdowns: number;
const report = { sent: 0, failed: 0, pending: 0 };
const sink: SpanSink = {
  add: (span) => got.push(span),
  flush: async () => {
    flushes += 1;
    return report;
  },
  shutdown: async () => {
    shutdowns += 1;
    return report;
  },
};
beforeEach(() => {
  got = [];
  flushes = 0;
  shutdowns = 0;
});

const rollout = (rolloutId: string, changes: Partial<RolloutScope> = {}): RolloutScope =>
  fakeRollout(rolloutId, { mode: "train", ...changes });

const idsOf = (span: FinishedSpan | undefined) => [
  span?.attributes[Agl.RolloutId],
  span?.attributes[Agl.AttemptId],
];

describe("with the app's own provider", () => {
  const processor = () => createSpanProcessor({ sink, currentScope });

  it("takes spans of a rollout, with its ids and agent, and leaves others alone", () => {
    const seen: FinishedSpan[] = [];
    const provider = new TracerProvider({
      spanProcessors: [
        processor(),
        {
          onStart: () => undefined,
          onEnd: (span) => seen.push(span),
          forceFlush: async () => undefined,
          shutdown: async () => undefined,
        },
      ],
    });
    const tracer = provider.getTracer("app");
    tracer.startSpan("outside").end();
    withScope({ rollout: rollout("ro-1"), agent: "planner" }, () => {
      tracer.startSpan("inside", { attributes: { own: 1 } }).end();
    });
    expect(got.map(({ name }) => name)).toEqual(["inside"]);
    expect(got[0]?.attributes).toEqual({
      own: 1,
      [AGENT_NAME]: "planner",
      [Agl.RolloutId]: "ro-1",
      [Agl.AttemptId]: "at-ro-1",
    });
    // What the app's own exporters see is not changed.
    expect(seen.map(({ attributes }) => attributes)).toEqual([{}, { own: 1 }]);
  });

  it("writes ids even where the provider allows no more attributes", () => {
    const provider = new TracerProvider({
      spanProcessors: [processor()],
      spanLimits: { attributeCountLimit: 1 },
    });
    withScope({ rollout: rollout("ro-1") }, () => {
      provider
        .getTracer("app")
        .startSpan("a", { attributes: { own: 1 } })
        .end();
    });
    expect(idsOf(got[0])).toEqual(["ro-1", "at-ro-1"]);
  });

  it("keeps an agent name that the span has", () => {
    const provider = new TracerProvider({ spanProcessors: [processor()] });
    withScope({ rollout: rollout("ro-1"), agent: "planner" }, () => {
      provider
        .getTracer("app")
        .startSpan("a", { attributes: { [AGENT_NAME]: "own" } })
        .end();
    });
    expect(got[0]?.attributes[AGENT_NAME]).toBe("own");
  });

  it("knows the rollout from the start, wherever the span ends", () => {
    const provider = new TracerProvider({ spanProcessors: [processor()] });
    const span = withScope({ rollout: rollout("ro-1") }, () => provider.getTracer("app").startSpan("a"));
    withScope({ rollout: rollout("ro-2") }, () => span.end());
    expect(idsOf(got[0])).toEqual(["ro-1", "at-ro-1"]);
  });
});

/** A span as the SDK 1.x makes it, and as 2.x and 3.x do. */
const shapes: Array<[string, (name: string, parent?: AnySpan) => AnySpan]> = [
  [
    "1.x",
    (name, parent) => {
      const { instrumentationScope, attributes: _, ...rest } = finished(name);
      const parentSpanId = parent?.spanContext().spanId;
      return {
        ...rest,
        attributes: {},
        instrumentationLibrary: instrumentationScope,
        ...(parentSpanId !== undefined && { parentSpanId }),
      };
    },
  ],
  [
    "2.x and 3.x",
    (name, parent) => ({
      ...finished(name),
      attributes: {},
      ...(parent !== undefined && { parentSpanContext: parent.spanContext() }),
    }),
  ],
];

describe.each(shapes)("spans of SDK %s", (_, make) => {
  const asStarted = (span: AnySpan) => span as unknown as StartedSpan;

  it("belong where their parent does, whatever code they run in", () => {
    const processor = createSpanProcessor({ sink, currentScope });
    const parent = make("parent");
    withScope({ rollout: rollout("ro-1"), agent: "solver" }, () => processor.onStart(asStarted(parent)));
    const child = make("child", parent);
    withScope({ rollout: rollout("ro-2") }, () => processor.onStart(asStarted(child)));
    processor.onEnd(child);
    processor.onEnd(parent);
    expect(got.map((span) => [span.name, ...idsOf(span)])).toEqual([
      ["child", "ro-1", "at-ro-1"],
      ["parent", "ro-1", "at-ro-1"],
    ]);
    expect(got[0]?.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
    expect(got[0]?.instrumentationScope.name).toBe("test");
  });

  it("of a local rollout are left alone, those of an ended one are kept and marked", () => {
    const processor = createSpanProcessor({ sink, currentScope });
    const local = make("local");
    withScope({ rollout: rollout("ro-1", { stored: false }) }, () => processor.onStart(asStarted(local)));
    processor.onEnd(local);
    const ending = rollout("ro-2");
    const late = make("late");
    withScope({ rollout: ending }, () => processor.onStart(asStarted(late)));
    ending.ended = true;
    processor.onEnd(late);
    const after = make("after");
    withScope({ rollout: ending }, () => processor.onStart(asStarted(after)));
    processor.onEnd(after);
    expect(got.map((span) => [span.name, span.attributes["agentlightning.late"]])).toEqual([
      ["late", true],
      ["after", true],
    ]);
  });
});

it("delivers but does not close the sink, which is not the provider's", async () => {
  const processor = createSpanProcessor({ sink: () => sink, currentScope });
  await processor.forceFlush();
  await processor.shutdown();
  expect([flushes, shutdowns]).toEqual([2, 0]);
});

it("does nothing while there is no sink, and never throws", async () => {
  const processor = createSpanProcessor({ sink: () => undefined, currentScope });
  const span = finished("a");
  withScope({ rollout: rollout("ro-1") }, () => processor.onStart(span as unknown as StartedSpan));
  processor.onEnd(span);
  processor.onEnd({} as never);
  await processor.forceFlush();
});
