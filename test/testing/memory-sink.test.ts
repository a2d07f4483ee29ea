import { afterEach, describe, expect, it } from "vitest";
import { agent } from "../../src/capture/operation.ts";
import type { Span } from "../../src/protocol/span.ts";
import { createMemorySink, spanTree } from "../../src/testing/index.ts";
import { setDestinations, startSpan } from "../../src/trace/recorder.ts";

afterEach(() => setDestinations({}));

function record() {
  const sink = createMemorySink();
  setDestinations({ exporters: (span) => sink.add(span) });
  return sink;
}

describe("the memory sink", () => {
  it("keeps spans in the order of their ends, late attributes shaped", () => {
    const sink = record();
    const first = startSpan({ name: "first" })!;
    const second = startSpan({ name: "second", parent: first })!;
    second.end({ outcome: "ok", late: () => ({ answer: 42 }) });
    first.end();
    expect(sink.spans.map((span) => span.name)).toEqual(["second", "first"]);
    expect(sink.spans[0]!.attributes["answer"]).toBe(42);
  });

  it("reports each span once, and takes nothing after its shutdown", async () => {
    const sink = record();
    startSpan({ name: "one" })!.end();
    expect(await sink.flush()).toEqual({ sent: 1, failed: 0, pending: 0 });
    startSpan({ name: "two" })!.end();
    expect(await sink.shutdown()).toEqual({ sent: 1, failed: 0, pending: 0 });
    startSpan({ name: "three" })!.end();
    expect(sink.spans).toHaveLength(2);
    sink.clear();
    expect(sink.spans).toEqual([]);
    expect(await sink.flush()).toEqual({ sent: 0, failed: 0, pending: 0 });
  });

  it("takes spans as an exporter", () => {
    const sink = record();
    startSpan({ name: "one" })!.end();
    const other = createMemorySink();
    const results: unknown[] = [];
    other.export(sink.spans, (result) => results.push(result));
    expect(other.spans).toEqual(sink.spans);
    expect(results).toEqual([{ code: 0 }]);
  });
});

describe("spanTree", () => {
  it("shows spans of the tracer by their starts, with agents", () => {
    const sink = record();
    const root = startSpan({ name: "root" })!;
    const slow = startSpan({ name: "slow", parent: root, agent: "a" })!;
    startSpan({ name: "quick", parent: root })!.end();
    startSpan({ name: "inner", parent: slow })!.end();
    slow.end();
    root.end();
    agent("planner", () => startSpan({ name: "call" })!.end());
    expect(spanTree(sink.spans)).toBe(
      [
        "root",
        "  slow [a]",
        "    inner [a]",
        "  quick",
        "invoke_agent planner [planner]",
        "  call [planner]",
      ].join("\n"),
    );
  });

  it("shows spans of the store, an unknown parent's child as a root, equal times by sequence", () => {
    const span = (span_id: string, parent_id: string | null, sequence_id: number, start_time: number) =>
      ({ span_id, parent_id, sequence_id, start_time, name: span_id, attributes: {} }) as unknown as Span;
    const spans = [
      span("c", "gone", 4, 9),
      span("b2", "a", 3, 2),
      span("b1", "a", 2, 2),
      span("a", null, 1, 1),
    ];
    expect(spanTree(spans)).toBe("a\n  b1\n  b2\nc");
  });

  it("is empty for no spans", () => {
    expect(spanTree([])).toBe("");
  });
});
