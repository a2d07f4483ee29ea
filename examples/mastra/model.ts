/**
 * What the example's model says.
 *
 * @module
 */
import type { ModelRequest, Reply } from "../../src/testing/index.ts";

/** Calls the one tool that it is offered, then tells the number that came back. */
export function reply({ messages, tools }: ModelRequest): Reply {
  const last = messages.at(-1);
  if (last?.role === "tool") return { content: /\d+/.exec(last.content)?.[0] ?? "" };
  return tools[0] === "multiply"
    ? { toolCalls: [{ name: "multiply", arguments: { a: 6, b: 7 } }] }
    : { toolCalls: [{ name: tools[0] ?? "", arguments: { prompt: last?.content ?? "" } }] };
}
