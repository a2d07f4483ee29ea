/**
 * Agents of the AI SDK: classes whose instances call models by functions of their own module.
 *
 * @module
 */
import { hide } from "../../internal/hide.ts";
import { ownGlobal } from "../../internal/own-global.ts";
import { GenAi } from "../../protocol/semconv.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { startSpan } from "../../trace/recorder.ts";
import { runInSpan } from "../../trace/run-in-span.ts";
import { currentScope, withScope } from "../../trace/scope.ts";
import { isObject, type Loose } from "../openai/shape.ts";
import { instrumentOptions, type ModuleContext } from "./call-options.ts";
import { discretionOf, telemetryOf, withDiscretion } from "./discretion.ts";
import { watchSteps } from "./stream-operation.ts";

type Class = new (...args: unknown[]) => object;
type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Spans of agents with the function ids by which they call the module's functions. */
const agents = ownGlobal("ai-sdk-agents", () => new WeakMap<OpenSpan, unknown>());

/** The agent's name that options give: its id, or the function id of its telemetry. */
export function agentName(options: Loose): string | undefined {
  for (const name of [options["id"], options["name"], telemetryId(options)]) {
    if (typeof name === "string" && name !== "") return name;
  }
  return undefined;
}

const telemetryId = (options: Loose): unknown => telemetryOf(options)?.["functionId"];

/**
 * Runs `fn` as the agent that `options` name, and with the discretion that they ask for; without a name only what it
 * calls is recorded. An agent's own call of the module's functions is the agent already.
 */
export function runAsAgent(options: Loose, streams: boolean, fn: () => unknown): unknown {
  const telemetry = telemetryOf(options);
  const discretion = telemetry && discretionOf(telemetry);
  const name = agentName(options);
  const run = () => withDiscretion(discretion, fn);
  if (name === undefined || isOwnCall(name)) return run();
  const span = discretion?.off === true ? undefined : startAgent(name, telemetryId(options));
  if (span === undefined) return withScope({ agent: name }, run);
  return streams
    ? runStreaming(span, options["maxRetries"], run)
    : runInSpan(span, run, { scope: { agent: name } });
}

function runStreaming(span: OpenSpan, maxRetries: unknown, fn: () => unknown): unknown {
  watchSteps(span, maxRetries);
  try {
    return withScope({ agent: span.agent, span }, fn);
  } catch (error) {
    span.end({ outcome: "error", error });
    throw error;
  }
}

/** True where a call with the function id `id` is made by the agent that the code runs as, directly. */
export function isOwnCall(id: unknown): boolean {
  const around = currentScope()?.span;
  return around !== undefined && agents.get(around) === id;
}

/** Starts the span of an agent that calls the module's functions with a function id. */
export function startAgent(name: string, functionId: unknown): OpenSpan | undefined {
  const attributes = { [GenAi.OperationName]: "invoke_agent" };
  const span = startSpan({ name: `invoke_agent ${name}`, agent: name, attributes });
  if (span !== undefined) agents.set(span, functionId);
  return span;
}

/** A class like `original` whose agents are instrumented; `instanceof` takes both for the same. */
export function instrumentAgentClass(original: Class, context: ModuleContext): Class {
  return new Proxy(original, {
    construct(target, args, newTarget) {
      const settings = isObject(args[0]) ? args[0] : {};
      const agent = Reflect.construct(
        target,
        isObject(args[0]) ? [instrumentOptions(settings, context), ...args.slice(1)] : args,
        newTarget,
      ) as Loose;
      for (const [name, streams] of [
        ["generate", false],
        ["stream", true],
      ] as const) {
        const method = agent[name];
        if (typeof method === "function")
          hide(agent, name, wrap(method as Method, settings, streams, context));
      }
      return agent;
    },
  });
}

function wrap(method: Method, settings: Loose, streams: boolean, context: ModuleContext): Method {
  return function (this: unknown, ...args: unknown[]): unknown {
    const options = isObject(args[0]) ? instrumentOptions(args[0], context) : undefined;
    const given = options === undefined ? args : [options, ...args.slice(1)];
    const { id, name } = settings;
    return runAsAgent({ ...settings, ...options, id, name }, streams, () => method.apply(this, given));
  };
}
