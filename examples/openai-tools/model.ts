/**
 * What the model of the example says.
 *
 * @module
 */
import type { ModelRequest, Reply } from "../../src/testing/index.ts";

/** Asks for both temperatures at once, then compares what came back. */
export function reply({ messages }: ModelRequest): Reply {
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => Number(content));
  if (results.length < 2) {
    return {
      toolCalls: ["Oslo", "Rome"].map((city) => ({ name: "temperature", arguments: { city } })),
    };
  }
  const [oslo = 0, rome = 0] = results;
  return { content: `Rome is ${rome - oslo} degrees warmer than Oslo` };
}
