/**
 * What the example's model says.
 *
 * @module
 */
import type { ModelRequest, Reply } from "../../src/testing/model-reply.ts";

/** Calls the one tool that it is offered, then tells what the tool gave. */
export function reply({ messages, tools }: ModelRequest): Reply {
  const last = messages.at(-1);
  if (last?.role === "tool") return { content: last.content };
  return tools[0] === "solve"
    ? { toolCalls: [{ name: "solve", arguments: { task: last?.content ?? "" } }] }
    : { toolCalls: [{ name: "multiply", arguments: { a: 6, b: 7 } }] };
}
