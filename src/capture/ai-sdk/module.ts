/**
 * The module `ai`, instrumented: its exports cannot be replaced, so the user gets another object with the same names.
 *
 * @module
 */
import { isObject, type Loose } from "../openai/shape.ts";
import { instrumentAgentClass, runAsAgent } from "./agents.ts";
import { instrumentOptions, type ModuleContext } from "./call-options.ts";
import type { ModelOptions } from "./model.ts";

type Function = (this: unknown, ...args: unknown[]) => unknown;

/** Functions whose options have a model; the streaming ones give their result at once. */
const FUNCTIONS = {
  generateText: { streams: false, embeds: false },
  streamText: { streams: true, embeds: false },
  generateObject: { streams: false, embeds: false },
  streamObject: { streams: true, embeds: false },
  embed: { streams: false, embeds: true },
  embedMany: { streams: false, embeds: true },
} as const;

const AGENTS = ["ToolLoopAgent", "Experimental_Agent", "Agent"];

const made = new WeakMap<object, Loose>();

/** An object with the names of `ai`, whose functions and agents are instrumented. */
export function instrumentModule(ai: Loose, options: ModelOptions = {}): Loose {
  const known = made.get(ai);
  if (known !== undefined) return known;
  const context: ModuleContext = { ...options, ai };
  const copy: Loose = { ...ai };
  for (const [name, { streams, embeds }] of Object.entries(FUNCTIONS)) {
    const original = ai[name];
    if (typeof original === "function") copy[name] = wrap(original as Function, streams, embeds, context);
  }
  const classes = new Map<unknown, unknown>();
  for (const name of AGENTS) {
    const original = ai[name];
    if (typeof original !== "function") continue;
    // The module has one class under two names.
    if (!classes.has(original)) classes.set(original, instrumentAgentClass(original as never, context));
    copy[name] = classes.get(original);
  }
  made.set(ai, copy);
  made.set(copy, copy);
  return copy;
}

function wrap(original: Function, streams: boolean, embeds: boolean, context: ModuleContext): Function {
  const wrapped: Function = function (this: unknown, ...args: unknown[]): unknown {
    if (!isObject(args[0])) return original.apply(this, args);
    const options = instrumentOptions(args[0], context, embeds);
    const run = () => original.call(this, options, ...args.slice(1));
    return embeds ? run() : runAsAgent({ ...options, id: undefined, name: undefined }, streams, run);
  };
  Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(original));
  return wrapped;
}
