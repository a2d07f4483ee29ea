/**
 * What the model of the example says.
 *
 * @module
 */
import type { ModelRequest, Reply } from "../../src/testing/index.ts";

/** The answer to one request. */
export function reply({ messages }: ModelRequest): Reply {
  const text = String(messages.at(-1)?.content ?? "");
  if (text.startsWith("Plan: ")) return { content: "Multiply 6 by 7" };
  if (text.startsWith("Judge: ")) return { content: text.endsWith("42") ? "right" : "wrong" };
  return { content: "42" };
}
