/**
 * Tools of the AI SDK with a span around each execution.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import { safeJson } from "../../internal/safe-json.ts";
import { GenAi } from "../../protocol/semconv.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { startSpan } from "../../trace/recorder.ts";
import { runInSpan } from "../../trace/run-in-span.ts";
import { currentScope } from "../../trace/scope.ts";
import { WRAPPED } from "../openai/create.ts";
import { isObject, type Loose } from "../openai/shape.ts";
import { toolStart } from "../tool.ts";
import { currentDiscretion, withDiscretion } from "./discretion.ts";

type Execute = (this: unknown, ...args: unknown[]) => unknown;

/** Spans of running tools, by which the layers that see the same execution know of each other. */
const running = ownGlobal("ai-sdk-tools", () => new WeakMap<OpenSpan, unknown>());

/** A copy of a set of tools; the user's tools stay as they are. */
export function instrumentTools(tools: unknown): unknown {
  if (!isObject(tools)) return tools;
  const copy: Loose = {};
  for (const name of Object.keys(tools)) copy[name] = copyOf(name, tools[name]);
  return copy;
}

function copyOf(name: string, tool: unknown): unknown {
  if (!isObject(tool)) return tool;
  const execute = tool["execute"];
  if (typeof execute !== "function" || WRAPPED in execute) return tool;
  const copy = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool)) as Loose;
  const wrapped: Execute = function (this: unknown, ...args: unknown[]): unknown {
    const self = this === copy ? tool : this;
    const run = () => (execute as Execute).apply(self, args);
    const toolCallId = isObject(args[1]) ? args[1]["toolCallId"] : undefined;
    return runTool(name, args[0], toolCallId, run);
  };
  Object.defineProperties(wrapped, {
    name: { value: execute.name, configurable: true },
    length: { value: execute.length, configurable: true },
    [WRAPPED]: { value: execute },
  });
  Object.defineProperty(copy, "execute", {
    value: wrapped,
    configurable: true,
    enumerable: true,
    writable: true,
  });
  return copy;
}

/** Runs a tool as a span, unless the code runs in the span of this very execution already. */
function runTool(name: string, input: unknown, toolCallId: unknown, run: () => unknown): unknown {
  if (isRunning(toolCallId)) return run();
  const discretion = currentDiscretion();
  if (discretion?.off === true) return withDiscretion(undefined, run);
  const span = startTool(name, discretion?.inputs === true ? undefined : input, toolCallId);
  if (span === undefined) return run();
  let streams = false;
  return runInSpan(
    span,
    () => {
      const result = run();
      streams = isObject(result) && typeof result[Symbol.asyncIterator] === "function";
      return result;
    },
    {
      // What a generator yields last is the tool's result; the rest were previews of it.
      onResult: (result) => {
        if (discretion?.outputs === true) return;
        span.setAttribute(
          GenAi.ToolResult,
          safeJson(streams && Array.isArray(result) ? result.at(-1) : result),
        );
      },
    },
  );
}

/** True where the code runs in the span of that execution, directly. */
export function isRunning(toolCallId: unknown): boolean {
  const around = currentScope()?.span;
  return around !== undefined && toolCallId !== undefined && running.get(around) === toolCallId;
}

/** Starts the span of a tool's execution; an input of undefined is not to be recorded. */
export function startTool(
  name: string,
  input: unknown,
  toolCallId: unknown,
  agent?: string,
): OpenSpan | undefined {
  const start = toolStart(name, input);
  if (input === undefined) delete start.attributes[GenAi.ToolArguments];
  if (typeof toolCallId === "string") start.attributes[GenAi.ToolCallId] = toolCallId;
  const span = startSpan(agent === undefined ? start : { ...start, agent });
  if (span !== undefined) running.set(span, toolCallId);
  return span;
}
