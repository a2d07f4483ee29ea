/**
 * What the model of the example says: the solver slips once, the critic sees it.
 *
 * @module
 */
import type { ModelRequest, Reply } from "../../src/testing/index.ts";

/** The answer to one request. */
export function reply({ messages, tools }: ModelRequest): Reply {
  const last = messages.at(-1);
  const text = String(last?.content ?? "");
  if (text.startsWith("Plan: ")) return { content: "Multiply 6 by 7" };
  if (text.startsWith("Judge: ")) return { content: text.endsWith("= 42") ? "right" : "check again" };
  if (last?.role === "tool") return { content: text };
  if (!tools.includes("multiply")) return { content: "I have no tool" };
  const factor = text.includes("check again") ? 7 : 8;
  return { toolCalls: [{ name: "multiply", arguments: { a: 6, b: factor } }] };
}
