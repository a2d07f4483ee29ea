/**
 * The module `ai`, instrumented: its exports cannot be replaced from outside, so the user gets another object with the
 * same names; a loader that is inside the module replaces them one by one.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import { isObject, type Loose } from "../openai/shape.ts";
import { instrumentAgentClass, runAsAgent } from "./agents.ts";
import { instrumentOptions, type ModuleContext } from "./call-options.ts";
import { isModel, type ModelKind } from "./kinds.ts";
import { instrumentModel, type ModelOptions } from "./model.ts";

type Function = (this: unknown, ...args: unknown[]) => unknown;
type Wrap = (original: Function, context: ModuleContext) => unknown;

const whole = calling("language", false);
const streaming = calling("language", true);
const embedding = calling("embedding", false);
const agents: Wrap = (original, context) => instrumentAgentClass(original as never, context);

/**
 * What is instrumented, by the names of the exports and, where these differ, of what the module declares. A loader that
 * can assign to the declarations covers the calls inside the module too, those of its agents among them.
 */
const EXPORTS: Readonly<Record<string, Wrap>> = {
  generateText: whole,
  streamText: streaming,
  streamTextLowMemory: streaming,
  experimental_streamTextLowMemory: streaming,
  experimental_streamLanguageModelCall: streaming,
  generateObject: whole,
  streamObject: streaming,
  embed: embedding,
  embedMany: embedding,
  rerank: calling("reranking", false),
  ToolLoopAgent: agents,
  Experimental_Agent: agents,
  Agent: agents,
  resolveLanguageModel: resolving,
  resolveEmbeddingModel: resolving,
  resolveRerankingModel: resolving,
};

/** Names that {@link instrumentExport} takes. */
export const EXPORT_NAMES: readonly string[] = Object.keys(EXPORTS);

/** From what was given to what was made of it, and from that to itself. */
const made = ownGlobal("ai-sdk-exports", () => new WeakMap<object, unknown>());

/** An object with the names of `ai`, whose functions and agents are instrumented. */
export function instrumentModule(ai: Loose, options: ModelOptions = {}): Loose {
  const known = made.get(ai);
  if (known !== undefined) return known as Loose;
  const copy: Loose = { ...ai };
  for (const name of EXPORT_NAMES) {
    if (name in copy) copy[name] = instrumentExport(name, ai[name], { ...options, ai });
  }
  return keep(ai, copy);
}

/**
 * One export or declaration of the module, instrumented: what `name = instrumentExport(name, name)` inside the module
 * needs. The same value gives the same again, an instrumented one itself, and what needs nothing is given back.
 */
export function instrumentExport(name: string, value: unknown, context: ModuleContext = { ai: {} }): unknown {
  const wrap = Object.hasOwn(EXPORTS, name) ? EXPORTS[name] : undefined;
  if (wrap === undefined || typeof value !== "function") return value;
  return made.get(value) ?? keep(value, wrap(value as Function, context) as object);
}

function keep<T extends object>(original: object, copy: T): T {
  made.set(original, copy);
  made.set(copy, copy);
  return copy;
}

/** A function whose options have a model; a streaming one gives its result at once. */
function calling(kind: ModelKind, streams: boolean): Wrap {
  return (original, context) =>
    likeness(original, function (this: unknown, ...args: unknown[]): unknown {
      if (!isObject(args[0])) return original.apply(this, args);
      const options = instrumentOptions(args[0], context, kind);
      const run = () => original.call(this, options, ...args.slice(1));
      return kind === "language"
        ? runAsAgent({ ...options, id: undefined, name: undefined }, streams, run)
        : run();
    });
}

/** A function that gives the model for whatever the user has named it by. */
function resolving(original: Function, context: ModuleContext): unknown {
  return likeness(original, function (this: unknown, ...args: unknown[]): unknown {
    const model = original.apply(this, args);
    return isModel(model) ? (instrumentModel(model, context) ?? model) : model;
  });
}

function likeness(original: Function, wrapped: Function): Function {
  Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(original));
  return wrapped;
}
