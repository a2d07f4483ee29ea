/**
 * Spans as an indented text, so that a test compares a whole tree with one expectation.
 *
 * @module
 */
import { AGENT_NAME } from "../protocol/semconv.ts";
import type { Span } from "../protocol/span.ts";
import type { FinishedSpan } from "../trace/finished-span.ts";

interface Node {
  id: string;
  parent: string | undefined;
  name: string;
  agent: unknown;
  start: number;
  order: number;
}

function nodeOf(span: FinishedSpan | Span, order: number): Node {
  const agent = span.attributes[AGENT_NAME];
  if ("span_id" in span) {
    const parent = span.parent_id ?? undefined;
    return {
      id: span.span_id,
      parent,
      name: span.name,
      agent,
      start: span.start_time ?? 0,
      order: span.sequence_id,
    };
  }
  const [seconds, nanos] = span.startTime;
  const { spanId } = span.spanContext();
  const parent = span.parentSpanContext?.spanId;
  return { id: spanId, parent, name: span.name, agent, start: seconds + nanos / 1e9, order };
}

/**
 * The tree of `spans`, taken from the tracer or from the store: a line a span, children two spaces further in and in the
 * order of their starts, the agent's name in brackets. A span whose parent is not among them is a root.
 *
 * @example
 * ```ts
 * import { createMemorySink, spanTree } from "agentlightning/testing";
 * const sink = createMemorySink();
 * spanTree(sink.spans); // "agentlightning.rollout\n  openai.chat.completion [solver]"
 * ```
 */
export function spanTree(spans: Iterable<FinishedSpan | Span>): string {
  const nodes = [...spans].map(nodeOf).sort((a, b) => a.start - b.start || a.order - b.order);
  const known = new Set(nodes.map((node) => node.id));
  const lines: string[] = [];
  const print = (node: Node, depth: number) => {
    const agent = typeof node.agent === "string" ? ` [${node.agent}]` : "";
    lines.push(`${"  ".repeat(depth)}${node.name}${agent}`);
    for (const child of nodes) if (child.parent === node.id && child !== node) print(child, depth + 1);
  };
  for (const node of nodes) if (node.parent === undefined || !known.has(node.parent)) print(node, 0);
  return lines.join("\n");
}
