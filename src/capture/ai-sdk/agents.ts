/**
 * Agents of the AI SDK: classes whose instances call models by functions of their own module.
 *
 * @module
 */
import { GenAi } from "../../protocol/semconv.ts";
import { startSpan } from "../../trace/recorder.ts";
import { runInSpan } from "../../trace/run-in-span.ts";
import { withScope } from "../../trace/scope.ts";
import { hide, isObject, type Loose } from "../openai/shape.ts";
import { instrumentOptions, type ModuleContext } from "./call-options.ts";
import { watchSteps } from "./stream-operation.ts";

type Class = new (...args: unknown[]) => object;
type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Retries of the AI SDK when nothing else is said. */
const MAX_RETRIES = 2;

/** The agent's name that options give: its id, or the function id of its telemetry. */
export function agentName(options: Loose): string | undefined {
  for (const name of [options["id"], options["name"], telemetryId(options)]) {
    if (typeof name === "string" && name !== "") return name;
  }
  return undefined;
}

function telemetryId(options: Loose): unknown {
  const telemetry = options["telemetry"] ?? options["experimental_telemetry"];
  return isObject(telemetry) ? telemetry["functionId"] : undefined;
}

/** Runs `fn` as the agent that `options` name; without a name only what it calls is recorded. */
export function runAsAgent(options: Loose, streams: boolean, fn: () => unknown): unknown {
  const name = agentName(options);
  if (name === undefined) return fn();
  const span = startSpan({
    name: `invoke_agent ${name}`,
    agent: name,
    attributes: { [GenAi.OperationName]: "invoke_agent" },
  });
  if (span === undefined) return withScope({ agent: name }, fn);
  if (!streams) return runInSpan(span, fn, { scope: { agent: name } });
  const { maxRetries } = options;
  watchSteps(span, typeof maxRetries === "number" ? maxRetries : MAX_RETRIES);
  try {
    return withScope({ agent: name, span }, fn);
  } catch (error) {
    span.end({ outcome: "error", error });
    throw error;
  }
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
    return runAsAgent({ ...options, ...settings }, streams, () => method.apply(this, given));
  };
}
