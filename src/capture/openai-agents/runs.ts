/**
 * The runs of a `Runner`: what was asked of each, and what becomes of it.
 *
 * @module
 */
import { isThenable } from "../../internal/thenable.ts";
import { GenAi, type Outcome } from "../../protocol/semconv.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { isRecording, startSpan } from "../../trace/recorder.ts";
import { currentScope, type InnerCalls, ownScope, withScope } from "../../trace/scope.ts";
import { isObject, type Loose, objectAt } from "../openai/shape.ts";
import { patch } from "../patch.ts";
import { KINDS, type Kind } from "./kinds.ts";
import type { Node } from "./nodes.ts";

/** A run while it is under way; found through the scope of the code inside. */
interface AgentsRun extends InnerCalls {
  readonly config: Loose;
  readonly signal: Loose | undefined;
  /** What it gave; a stream gives it at once. */
  result: Loose | undefined;
  /** Spans of its agents that are open. */
  readonly agents: Set<OpenSpan>;
  /** Spans of tools that the SDK itself has none of, by the id of the call. */
  readonly tools: Map<unknown, OpenSpan>;
}

function currentRun(): AgentsRun | undefined {
  for (let inner = ownScope()?.inner; inner !== undefined; inner = inner.outer) {
    if ("agents" in inner) return inner as AgentsRun;
  }
  return undefined;
}

/** True when the run must not tell what is said in it. */
export function isConfidential(): boolean {
  return currentRun()?.config["traceIncludeSensitiveData"] === false;
}

/** The span of an agent has started. */
export function opened({ span }: Node): void {
  if (span !== undefined) currentRun()?.agents.add(span);
}

/** A span is about to end. */
export function closed(span: OpenSpan): void {
  currentRun()?.agents.delete(span);
}

/** A tool has started that the SDK makes no span of, as with a runner's `tracingDisabled`. */
export function toolStarted(name: unknown, call: Loose): void {
  const run = currentRun();
  const kind = KINDS["function"] as Kind;
  const span = run && startSpan(kind.start({ name }));
  if (span === undefined) return;
  span.setAttribute(GenAi.ToolCallId, String(call["callId"]));
  if (!isConfidential()) span.setAttributes(kind.end({ input: call["arguments"] }));
  run?.tools.set(call["callId"], span);
}

/** Such a tool has ended. */
export function toolEnded(output: unknown, call: Loose): void {
  const span = currentRun()?.tools.get(call["callId"]);
  if (!isConfidential()) span?.setAttributes((KINDS["function"] as Kind).end({ output }));
  span?.end();
}

/** How a span ends in the current run. */
export function outcomeIn(agent: boolean, failed: boolean): Outcome {
  const run = currentRun();
  if (failed) return run?.signal?.["aborted"] === true ? "aborted" : "error";
  return agent && run?.result?.["cancelled"] === true ? "cancelled" : "ok";
}

/** Patches the class of the runners; `onModels` is told what may be, or give, a model of a run. */
export function patchRunner(prototype: object, onModels: (candidates: unknown[]) => void): boolean {
  return patch(prototype, "run", (original) => {
    return function (...args) {
      const run = begin(this, args, onModels);
      if (run === undefined) return original.apply(this, args);
      const result = withScope({ inner: run }, () => original.apply(this, args));
      if (!(result instanceof Promise)) return result;
      return result.then(
        (value) => {
          settled(run, value);
          return value;
        },
        (error: unknown) => {
          leave(run);
          throw error;
        },
      );
    };
  });
}

function begin(
  runner: unknown,
  [agent, input, options]: unknown[],
  onModels: (candidates: unknown[]) => void,
): AgentsRun | undefined {
  try {
    const scope = currentScope();
    if (!isRecording(scope?.rollout)) return undefined;
    const config = objectAt(runner, ["config"]) ?? {};
    const resumed = objectAt(input, ["_currentAgent"]);
    onModels([config["modelProvider"], config["model"], objectAt(agent, [])?.["model"], resumed?.["model"]]);
    return {
      calls: 0,
      outer: scope?.inner,
      config,
      signal: objectAt(options, ["signal"]),
      result: undefined,
      agents: new Set(),
      tools: new Map(),
    };
  } catch {
    return undefined;
  }
}

function settled(run: AgentsRun, value: unknown): void {
  try {
    if (!isObject(value)) return;
    run.result = value;
    const { _getStreamLoopPromise: loopOf } = value;
    const loop: unknown = typeof loopOf === "function" ? loopOf.call(value) : undefined;
    if (isThenable(loop))
      loop.then(
        () => leave(run),
        () => leave(run),
      );
    else leave(run);
  } catch {
    // A result of another kind.
  }
}

/** The SDK keeps the span of an interrupted agent open for the run that goes on, which may never come. */
function leave({ agents, tools }: AgentsRun): void {
  for (const span of [...agents, ...tools.values()]) span.end();
}
