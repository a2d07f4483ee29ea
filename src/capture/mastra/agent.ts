/**
 * Agents of Mastra, which runs on the models of the AI SDK: the agent gets a span and gives its name, what it resolves by
 * its own methods (models, tools, other agents) is instrumented on the way.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import { safeJson } from "../../internal/safe-json.ts";
import { isThenable } from "../../internal/thenable.ts";
import { GenAi } from "../../protocol/semconv.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { startSpan } from "../../trace/recorder.ts";
import { runInSpan } from "../../trace/run-in-span.ts";
import { currentScope, withScope } from "../../trace/scope.ts";
import { isModel } from "../ai-sdk/kinds.ts";
import { instrumentModel, type ModelOptions } from "../ai-sdk/model.ts";
import { watchSteps } from "../ai-sdk/stream-operation.ts";
import { isObject, type Loose, objectAt } from "../openai/shape.ts";
import { type Method, patch } from "../patch.ts";
import { toolStart } from "../tool.ts";
import { wrapFunction } from "../wrap-function.ts";

/** Methods that run an agent, and whether it goes on when their promise is settled. */
const RUNS = { generate: false, resumeGenerate: false, stream: true, resumeStream: true } as const;

/** True for an agent of Mastra 1. */
export function isMastraAgent(value: unknown): value is Loose {
  return (
    isObject(value) &&
    typeof value["name"] === "string" &&
    ["generate", "stream", "listTools", "listAgents"].every((name) => typeof value[name] === "function")
  );
}

/** Replaces methods of `agent`, in place; gives undefined when it refuses that. */
export function instrumentMastraAgent(agent: Loose, options: ModelOptions = {}): Loose | undefined {
  for (const [name, streams] of Object.entries(RUNS)) {
    if (!patch(agent, name, (run) => runAs(agent, run, streams)) && name in agent) return undefined;
  }
  patch(
    agent,
    "resolveModelConfig",
    seeing((model) => isModel(model) && instrumentModel(model, options)),
  );
  patch(
    agent,
    "listTools",
    seeing((tools) => eachOf(tools, instrumentTool)),
  );
  patch(
    agent,
    "listAgents",
    seeing((agents) =>
      eachOf(agents, (_, other) => isMastraAgent(other) && instrumentMastraAgent(other, options)),
    ),
  );
  return agent;
}

function eachOf(record: unknown, see: (name: string, value: Loose) => unknown): void {
  if (!isObject(record)) return;
  for (const [name, value] of Object.entries(record)) if (isObject(value)) see(name, value);
}

/** A method that shows `see` what it gives, before anybody else has it. */
function seeing(see: (value: unknown) => unknown): (original: Method) => Method {
  const seen = <T>(value: T): T => {
    try {
      see(value);
    } catch {
      // What cannot be instrumented runs unrecorded.
    }
    return value;
  };
  return (original) =>
    function (...args) {
      const result = original.apply(this, args);
      return isThenable(result) ? result.then(seen) : seen(result);
    };
}

/** Agents by their open spans: some methods run others of the same agent. */
const running = ownGlobal("mastra-agents", () => new WeakMap<OpenSpan, unknown>());

function runAs(agent: Loose, original: Method, streams: boolean): Method {
  return function (...args) {
    const run = () => original.apply(this, args);
    const around = currentScope()?.span;
    if (around !== undefined && running.get(around) === agent) return run();
    const name = String(agent["name"]);
    const attributes = { [GenAi.OperationName]: "invoke_agent" };
    const span = startSpan({ name: `invoke_agent ${name}`, agent: name, attributes });
    if (span === undefined) return withScope({ agent: name }, run);
    running.set(span, agent);
    if (!streams) return runInSpan(span, run, { scope: { agent: name } });
    watchSteps(span, undefined);
    const result = withScope({ agent: name, span }, run) as Promise<unknown>;
    return result.then(undefined, (error: unknown) => {
      span.end({ outcome: "error", error });
      throw error;
    });
  };
}

function instrumentTool(name: string, tool: Loose): void {
  // Mastra copies tools by what enumeration shows.
  if (Object.getOwnPropertyDescriptor(tool, "execute")?.enumerable !== true) return;
  patch(tool, "execute", (execute) =>
    wrapFunction(execute, {
      start(args) {
        const start = toolStart(name, args[0]);
        const id = objectAt(args[1], ["agent"])?.["toolCallId"] ?? objectAt(args[1], [])?.["toolCallId"];
        if (typeof id === "string") start.attributes[GenAi.ToolCallId] = id;
        return start;
      },
      onResult: (span, result) => span.setAttribute(GenAi.ToolResult, safeJson(result)),
    }),
  );
  Object.defineProperty(tool, "execute", { enumerable: true });
}
