/**
 * The spans of the Agents SDK, and where the code inside each belongs. They are told apart by their data: the SDK copies
 * the spans themselves, and makes them without ids where its tracing is off.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import type { Scope } from "../../trace/scope.ts";
import { isObject, type Loose } from "../openai/shape.ts";

/** A span of the SDK's. */
export interface Node {
  readonly parent: Node | undefined;
  /** Ours in its place; undefined before it has started, and for those that are not shown. */
  span: OpenSpan | undefined;
  /** Our own span that the code was in when it started. */
  at: OpenSpan | undefined;
  /** What the SDK has set as its error. */
  error: unknown;
}

const nodes = ownGlobal("openai-agents", () => new WeakMap<object, Node>());

/** The SDK's provider of spans, of which there is one in a process. */
export type Provider = Loose & { getCurrentSpan(): unknown };

/** The data of a span. */
export function dataOf(span: unknown): Loose | undefined {
  const data: unknown = isObject(span) ? span["spanData"] : undefined;
  return isObject(data) ? data : undefined;
}

/** The node of a span, once {@link openNode} has made it. */
export function nodeOf(span: unknown): Node | undefined {
  const data = dataOf(span);
  return data && nodes.get(data);
}

/** Makes the node of a span with `data`. */
export function openNode(data: object, parent: Node | undefined): Node {
  const node: Node = { parent, span: undefined, at: undefined, error: undefined };
  nodes.set(data, node);
  return node;
}

/** The scope of code that the SDK has inside `node` and this package in `own`: the deeper of the two. */
export function scopeAt(node: Node | undefined, own: Scope | undefined): Scope | undefined {
  let visible = node;
  while (visible !== undefined && visible.span === undefined) visible = visible.parent;
  const span = visible?.span;
  // Where the program has opened a span since, the code is inside that one.
  if (span === undefined || own?.span !== visible?.at) return own;
  return {
    suppressed: false,
    ...own,
    rollout: span.rollout ?? own?.rollout,
    agent: span.agent ?? own?.agent,
    span,
  };
}
