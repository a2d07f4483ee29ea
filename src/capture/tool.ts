/**
 * Calls of a tool as spans.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import { safeJson } from "../internal/safe-json.ts";
import type { Attributes } from "../protocol/json.ts";
import { GenAi } from "../protocol/semconv.ts";
import { type AnyFunction, wrapFunction } from "./wrap-function.ts";

/** Options of {@link tool}. */
export interface ToolOptions {
  /** What the tool does, for readers of the trace. */
  description?: string;
}

/** Name and attributes with which a tool's span starts. */
export function toolStart(name: string, args: unknown): { name: string; attributes: Attributes } {
  return {
    name: `execute_tool ${name}`,
    attributes: {
      [GenAi.OperationName]: "execute_tool",
      [GenAi.ToolName]: name,
      [GenAi.ToolType]: "function",
      [GenAi.ToolArguments]: safeJson(args),
    },
  };
}

/**
 * Gives back `fn` with a span around each call: its arguments, its result or error, and what it calls in turn. The
 * type, name and behaviour of the function stay; it may be sync, async or a generator (sync or async).
 *
 * A call with a single argument is recorded as that argument, any other as the list of its arguments, in JSON.
 *
 * @param name - the tool's name as the model knows it
 * @throws AglError `invalid_argument` when `name` is empty or `fn` is no function
 * @example
 * ```ts
 * import * as agl from "agentlightning";
 * const add = agl.tool("add", async ({ a, b }: { a: number; b: number }) => a + b);
 * const sum: number = await add({ a: 1, b: 2 });
 * ```
 */
export function tool<F extends AnyFunction>(name: string, fn: F, options: ToolOptions = {}): F {
  checkNamed("tool", name, fn);
  return wrapFunction(fn, {
    start: (args) => {
      const start = toolStart(name, args.length === 1 ? args[0] : args);
      if (options.description !== undefined)
        start.attributes["gen_ai.tool.description"] = options.description;
      return start;
    },
    onResult: (span, result) => span.setAttribute(GenAi.ToolResult, safeJson(result)),
  });
}

/** Refuses an empty name and a thing that is no function. */
export function checkNamed(what: string, name: unknown, fn: unknown): void {
  if (typeof name !== "string" || name === "") {
    throw new AglError(
      "invalid_argument",
      `${what}() needs a name as its first argument, got ${String(name) || '""'}.`,
    );
  }
  if (typeof fn !== "function") {
    throw new AglError(
      "invalid_argument",
      `${what}("${name}", fn) needs a function, got ${fn === null ? "null" : typeof fn}.`,
    );
  }
}
