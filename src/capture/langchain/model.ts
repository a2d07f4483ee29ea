/**
 * Patches the base class of LangChain's models: the calls that a model makes belong under its run, and are counted.
 *
 * @module
 */
import { isRecording } from "../../trace/recorder.ts";
import { currentScope, type Scope, withScope } from "../../trace/scope.ts";
import { append, choiceAt } from "../openai/answer.ts";
import { instrumentOpenAI, isOpenAIClient } from "../openai/client.ts";
import type { OpenAIOptions } from "../openai/settings.ts";
import { isObject, type Loose } from "../openai/shape.ts";
import { ownerOf, patch } from "../patch.ts";
import { followSteps } from "../steps.ts";
import { patchCaller } from "./context.ts";
import { textOf } from "./model-answer.ts";
import { type ModelPlace, parentRunId, runOf, scopeUnder, spanUnder } from "./runs.ts";

/** Patches the base class of `model`, an instance or a prototype; false when it cannot be. */
export function patchModel(model: object, options: OpenAIOptions): boolean {
  const base = ownerOf(model, "_generateUncached");
  const streaming = ownerOf(model, "_streamIterator");
  if (base === undefined) return false;
  const done = patch(base, "_generateUncached", (original) => {
    return function (...args) {
      const [, , handled, started] = args;
      const scope = enter(this, handled, options);
      if (scope === undefined) return original.apply(this, args);
      if (Array.isArray(started)) adopt(started, scope.inner as ModelPlace);
      return withScope(scope, () => original.apply(this, args));
    };
  });
  if (streaming === undefined) return done;
  return (
    patch(streaming, "_streamIterator", (original) => {
      return function (...args) {
        const scope = enter(this, args[1], options);
        if (scope === undefined) return original.apply(this, args);
        const stream = withScope(scope, () => original.apply(this, args));
        return isObject(stream) ? follow(stream, scope) : stream;
      };
    }) && done
  );
}

/** The changes of the scope for a model's own code; undefined when nobody records. */
function enter(model: unknown, config: unknown, options: OpenAIOptions): Partial<Scope> | undefined {
  try {
    const known = isObject(model) && prepare(model, options);
    const span = spanUnder(isObject(config) ? parentRunId(config["callbacks"]) : undefined);
    const scope = currentScope();
    if (!isRecording(span?.rollout ?? scope?.rollout)) return undefined;
    const elsewhere = options.proxy !== undefined || options.capture === false;
    const inner: ModelPlace = { calls: known && elsewhere ? 1 : 0, outer: scope?.inner, run: undefined };
    return { ...scopeUnder(span), inner };
  } catch {
    return undefined;
  }
}

/** With a cache the runs have been started before the model runs. */
function adopt(started: readonly unknown[], place: ModelPlace): void {
  for (const manager of started) {
    const run = isObject(manager) ? runOf(manager["runId"])?.model : undefined;
    if (run !== undefined) run.place = place;
  }
}

function follow(stream: Loose, changes: Partial<Scope>): Loose {
  const place = changes.inner as ModelPlace;
  followSteps(stream, withScope(changes, currentScope), {
    onStep: (step) => listen(step, place),
    onError: () => {},
    // The consumer has left: LangChain tells nobody.
    onLeave: () => place.run?.failed("cancelled"),
  });
  return stream;
}

function listen(step: Loose, { run, calls }: ModelPlace): void {
  if (run === undefined || calls > 0 || !isObject(step["value"])) return;
  const choice = choiceAt(run.answer, 0);
  choice.content = append(choice.content, textOf(step["value"]["content"]));
}

const prepared = new WeakSet<object>();

/** Has the calls of the model's inner client recorded, made already or not; true when it has one like OpenAI's. */
export function prepare(model: Loose, options: OpenAIOptions): boolean {
  patchQueue(model);
  let known = false;
  // ChatOpenAI leaves the work to one of two models of its own, an endpoint each.
  for (const part of [model, model["completions"], model["responses"]]) {
    if (isObject(part)) known = preparePart(part, options) || known;
  }
  return known;
}

/** Has the calls that wait in the queue of `owner` stay in their rollouts. */
export function patchQueue({ caller }: Loose): void {
  if (isObject(caller)) patchCaller(Object.getPrototypeOf(caller) as object);
}

function preparePart(part: Loose, options: OpenAIOptions): boolean {
  const owner = ownerOf(part, "_getClientOptions");
  if (owner !== undefined) {
    patch(owner, "_getClientOptions", (original) => {
      return function (...args) {
        const result = original.apply(this, args);
        // The client is made in there, at the first call.
        if (isObject(this)) instrumentClient(this["client"], options);
        return result;
      };
    });
  }
  return instrumentClient(part["client"], options) || owner !== undefined;
}

/** True when `client` is like OpenAI's and its calls are recorded. */
export function instrumentClient(client: unknown, options: OpenAIOptions): boolean {
  if (!isObject(client)) return false;
  if (prepared.has(client)) return true;
  try {
    if (!isOpenAIClient(client) || !instrumentOpenAI(client, options)) return false;
    prepared.add(client);
    return true;
  } catch {
    return false;
  }
}
