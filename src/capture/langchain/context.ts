/**
 * Puts the program's code inside a run (nodes, tools, lambdas) into the scope of the run's span, so that what it calls
 * belongs there. LangChain's own context is neither used nor switched on.
 *
 * @module
 */
import { bind } from "../../trace/scope.ts";
import { isObject, objectAt } from "../openai/shape.ts";
import { patch } from "../patch.ts";
import { parentRunId, runInside } from "./runs.ts";

const STORAGE = Symbol.for("ls:tracing_async_local_storage");
const CONFIG = Symbol.for("lc:child_config");

/** Patches the object that runs the program's functions with their run's configuration. */
export function patchContext(singleton: object): boolean {
  const owner = Object.getPrototypeOf(singleton) as object;
  return patch("runWithConfig" in owner ? owner : singleton, "runWithConfig", (original) => {
    return function (config, callback, ...rest) {
      return original.call(this, config, inside(parentOf(config), callback), ...rest);
    };
  });
}

/**
 * Patches LangChain's storage, through which the same object runs them where LangGraph or a tool set has switched it
 * on: it is the one part of it that can be found without importing anything.
 */
export function patchStorage(): void {
  const storage = (globalThis as Record<symbol, unknown>)[STORAGE];
  if (!isObject(storage)) return;
  patch(storage, "run", (original) => {
    return function (store, callback, ...rest) {
      const config: unknown = objectAt(store, ["extra"])?.[CONFIG];
      return original.call(
        this,
        store,
        config === undefined ? callback : inside(parentOf(config), callback),
        ...rest,
      );
    };
  });
}

function parentOf(config: unknown): unknown {
  return isObject(config) ? parentRunId(config["callbacks"]) : undefined;
}

function inside(id: unknown, callback: unknown): unknown {
  if (id === undefined || typeof callback !== "function") return callback;
  return (...args: unknown[]): unknown => runInside(id, () => Reflect.apply(callback, undefined, args));
}

/** Patches the class of the program's own functions, for programs that have not switched the storage on. */
export function patchLambda(prototype: object): boolean {
  return patch(prototype, "_invoke", (original) => {
    return function (...args) {
      const id = objectAt(args[2], [])?.["runId"];
      return runInside(id, () => original.apply(this, args));
    };
  });
}

/** Patches the class whose queue runs model calls: with a limit, a call starts where another one ends. */
export function patchCaller(prototype: object): boolean {
  const name = "callWithRetries" in prototype ? "callWithRetries" : "call";
  return patch(prototype, name, (original) => {
    return function (...args) {
      const at = args.findIndex((arg) => typeof arg === "function");
      if ((this as { maxConcurrency?: unknown } | undefined)?.maxConcurrency !== Infinity && at >= 0)
        args[at] = bind(args[at] as () => unknown);
      return original.apply(this, args);
    };
  });
}
