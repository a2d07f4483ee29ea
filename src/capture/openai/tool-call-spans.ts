/**
 * The tool calls that an answer asks for, as spans below the call's own. Upstream's tracer makes them, and its
 * `TraceToMessages` takes an answer's tool calls from nowhere else.
 *
 * @module
 */
import type { OpenSpan } from "../../trace/open-span.ts";
import { startSpan } from "../../trace/recorder.ts";
import { withScope } from "../../trace/scope.ts";
import type { Answer } from "./answer.ts";

/**
 * Records the calls of the first choice, the one that is trained on: the reader gives all it finds to every choice.
 * Only where a store will be read: other backends have the calls in the model call's attributes.
 */
export function recordToolCalls(parent: OpenSpan, answer: Answer): void {
  if (parent.rollout?.stored !== true) return;
  const calls = answer.choices.get(0)?.toolCalls;
  if (calls === undefined) return;
  for (const index of [...calls.keys()].sort((a, b) => a - b)) {
    const call = calls.get(index);
    if (call === undefined) continue;
    const start = {
      name: `tool_call.${call.name}`,
      parent,
      attributes: {
        "tool.name": call.name,
        "tool.parameters": call.arguments,
        "tool.call.id": call.id ?? "",
        "tool.call.type": call.type ?? "function",
      },
    };
    // A call may end in the scope that keeps the layers below it from recording it again.
    withScope({ suppressed: false }, () => startSpan(start)?.end());
  }
}
