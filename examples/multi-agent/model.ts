/**
 * What the models of the example say: the solver slips once, the critic sees it.
 *
 * @module
 */
import type { ModelRequest, Reply } from "../../src/testing/index.ts";

/** The answer to one request. */
export function reply({ messages: [role, question] }: ModelRequest): Reply {
  const text = question?.content ?? "";
  switch (role?.content) {
    case "You plan.":
      return { content: "Multiply 6 by 7" };
    case "You solve.":
      return { content: text.includes("check again") ? "42" : "48" };
    default:
      return { content: text.endsWith("= 42") ? "right" : "check again" };
  }
}
