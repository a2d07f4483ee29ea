/**
 * Any function as a span, and any stretch of code as an agent.
 *
 * @module
 */
import { flatten } from "../protocol/flatten.ts";
import { Agl, GenAi, SpanName } from "../protocol/semconv.ts";
import { startSpan } from "../trace/recorder.ts";
import { runInSpan } from "../trace/run-in-span.ts";
import { withScope } from "../trace/scope.ts";
import { checkNamed } from "./tool.ts";
import { type AnyFunction, wrapFunction } from "./wrap-function.ts";

/**
 * Gives back `fn` with an `agentlightning.operation` span around each call; arguments are recorded as
 * `agentlightning.operation.input.args.N`, the result as `agentlightning.operation.output`.
 *
 * @throws AglError `invalid_argument` when `name` is empty or `fn` is no function
 * @example
 * ```ts
 * import * as agl from "agentlightning";
 * const rank = agl.operation("rank", (items: string[]) => [...items].sort());
 * ```
 */
export function operation<F extends AnyFunction>(name: string, fn: F): F {
  checkNamed("operation", name, fn);
  return wrapFunction(fn, {
    start: (args) => ({
      name: SpanName.Operation,
      attributes: {
        [Agl.OperationName]: name,
        ...flatten(`${Agl.OperationInput}.args`, args, { expandLists: true }),
      },
    }),
    onResult: (span, result) => span.setAttributes(flatten(Agl.OperationOutput, result)),
  });
}

/**
 * Runs `fn` as the agent `name`: every span inside carries the agent's name, so that an algorithm can train one agent
 * and leave the others alone. The innermost agent counts. Gives back what `fn` gives.
 *
 * @throws AglError `invalid_argument` when `name` is empty or `fn` is no function; whatever `fn` throws, untouched
 * @example
 * ```ts
 * import * as agl from "agentlightning";
 * const plan = await agl.agent("planner", async () => "1. add; 2. divide");
 * ```
 */
export function agent<R>(name: string, fn: () => R): R {
  checkNamed("agent", name, fn);
  const span = startSpan({
    name: `invoke_agent ${name}`,
    agent: name,
    attributes: { [GenAi.OperationName]: "invoke_agent" },
  });
  if (span === undefined) return withScope({ agent: name }, fn);
  return runInSpan(span, fn, { scope: { agent: name } });
}
