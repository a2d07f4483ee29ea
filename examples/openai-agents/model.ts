/**
 * What the model of the example says: the solver slips once, the critic sees it.
 *
 * @module
 */
import type { ModelRequest, Reply } from "../../src/testing/index.ts";

const handOver = (to: string): Reply => ({ toolCalls: [{ name: `transfer_to_${to}`, arguments: {} }] });

/** The answer to one request. */
export function reply({ messages, tools }: ModelRequest): Reply {
  const results = messages.filter(({ role, content }) => role === "tool" && /^\d+$/.test(String(content)));
  const result = results.at(-1);
  if (tools.includes("multiply")) {
    if (result !== undefined && result === messages.at(-1)) return handOver("critic");
    return { toolCalls: [{ name: "multiply", arguments: { a: 6, b: results.length === 0 ? 8 : 7 } }] };
  }
  return result?.content === "42" ? { content: "42" } : handOver("solver");
}
