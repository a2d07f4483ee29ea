/**
 * Follows the spans of the Agents SDK at their provider. A trace processor would be told of them too late, behind the
 * other processors, and not at all where tracing is off; the provider makes them either way.
 *
 * @module
 */
import { hide } from "../../internal/hide.ts";
import { isRecording, startSpan } from "../../trace/recorder.ts";
import { ownScope, setScopeFinder } from "../../trace/scope.ts";
import { isObject, type Loose } from "../openai/shape.ts";
import { ownerOf, patch } from "../patch.ts";
import { KINDS, type Kind } from "./kinds.ts";
import { dataOf, type Node, nodeOf, openNode, type Provider, scopeAt } from "./nodes.ts";
import { closed, isConfidential, opened, outcomeIn } from "./runs.ts";

/** Patches the provider, and has every scope looked up in the SDK's storage; false when it refuses. */
export function followSpans(provider: Provider): boolean {
  const owner = ownerOf(provider, "createSpan");
  if (owner === undefined) return false;
  setScopeFinder((own) => {
    try {
      return scopeAt(nodeOf(provider.getCurrentSpan()), own);
    } catch {
      return own;
    }
  });
  return patch(owner, "createSpan", (original) => {
    return function (...args) {
      const span = original.apply(this, args);
      try {
        if (isObject(span)) follow(span, args[1] ?? provider.getCurrentSpan());
      } catch {
        // The user's run goes on without its span.
      }
      return span;
    };
  });
}

function follow(span: Loose, parent: unknown): void {
  const data = dataOf(span);
  if (data === undefined || !isRecording(ownScope()?.rollout)) return;
  // A span that is put into another trace is made anew with the same data.
  const node = nodeOf(span) ?? openNode(data, nodeOf(parent));
  const kind = KINDS[String(data["type"])];
  if (kind === undefined) return;
  after(span, "start", () => start(node, kind, data));
  after(span, "end", () => end(node, kind, data));
  after(span, "setError", (error) => {
    // Where tracing is off the SDK does not see that it has told of this one already, in more words.
    if (node.error === undefined || (isObject(error) && error["data"] !== undefined)) node.error = error;
  });
}

/** Has `then` called after the method `name` of `span`. */
function after(span: Loose, name: string, then: (arg: unknown) => void): void {
  const original = span[name];
  if (typeof original !== "function") return;
  hide(span, name, function (this: unknown, ...args: unknown[]): unknown {
    const result: unknown = original.apply(this, args);
    try {
      then(args[0]);
    } catch {
      // As above.
    }
    return result;
  });
}

function start(node: Node, kind: Kind, data: Loose): void {
  if (node.span !== undefined) return;
  const own = ownScope();
  node.at = own?.span;
  node.span = startSpan({ ...kind.start(data), parent: scopeAt(node.parent, own)?.span });
  if (kind === KINDS["agent"]) opened(node);
}

function end({ span, error }: Node, kind: Kind, data: Loose): void {
  if (span === undefined || span.ended) return;
  closed(span);
  span.setAttributes(kind.end(data));
  const outcome = outcomeIn(kind === KINDS["agent"], error !== undefined);
  span.end({ outcome, ...(error !== undefined && { error: asThrown(error) }) });
}

/** The SDK keeps of an error what `String` makes of it. */
function asThrown(error: unknown): object {
  const { message, data } = isObject(error) ? error : { message: error, data: undefined };
  const detail = isObject(data) ? data["error"] : undefined;
  const text = String(detail ?? message);
  const [, type = "Error", rest = text] = /^([A-Z]\w*): ([\s\S]*)$/.exec(text) ?? [];
  // The SDK tells what a tool threw even where it must not tell its data.
  if (isConfidential()) return { constructor: { name: type }, message: "" };
  return { constructor: { name: type }, message: rest === "Error" ? String(message) : rest };
}
