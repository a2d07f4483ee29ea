/**
 * Instruments LangChain.js: its callback manager, its models, and what runs the program's code inside a run.
 *
 * Nothing of LangChain is imported. From a model, or a model's class, the rest is found: its base class, its queue, and
 * the callback manager.
 *
 * @module
 */
import { isRecording } from "../../trace/recorder.ts";
import { currentScope } from "../../trace/scope.ts";
import type { OpenAIOptions } from "../openai/settings.ts";
import { isObject, type Loose } from "../openai/shape.ts";
import { ownerOf, patch } from "../patch.ts";
import { patchCaller, patchContext, patchLambda, patchStorage } from "./context.ts";
import { patchEmbeddings } from "./embeddings.ts";
import { handler } from "./handler.ts";
import { patchModel, prepare } from "./model.ts";

/** What of LangChain a value is. */
type Part = "manager" | "model" | "model class" | "embeddings" | "context" | "caller" | "module";

/** True for a part of LangChain that can be instrumented, or a module with such parts. */
export function isLangChain(value: object): boolean {
  return partOf(value) !== undefined;
}

function partOf(value: object): Part | undefined {
  if (typeof value === "function") {
    if (typeof (value as unknown as Loose)["_configureSync"] === "function") return "manager";
    const prototype: unknown = value.prototype;
    if (!isObject(prototype)) return undefined;
    if (isModel(prototype)) return "model class";
    if (isEmbeddings(prototype)) return "embeddings";
    return typeof prototype["callWithOptions"] === "function" && typeof prototype["call"] === "function"
      ? "caller"
      : undefined;
  }
  if (isModel(value as Loose)) return "model";
  if (isEmbeddings(value as Loose)) return "embeddings";
  const { runWithConfig, getRunnableConfig } = value as Loose;
  if (typeof runWithConfig === "function" && typeof getRunnableConfig === "function") return "context";
  return partsOf(value).length > 0 ? "module" : undefined;
}

const isModel = (value: Loose): boolean =>
  typeof value["_generateUncached"] === "function" && typeof value["_streamIterator"] === "function";

/** Of OpenAI's kind: what no other embeddings have is the method that asks the client. */
const isEmbeddings = (value: Loose): boolean =>
  typeof value["embeddingWithRetry"] === "function" && typeof value["embedQuery"] === "function";

/** The parts that a module exports. */
function partsOf(value: object): object[] {
  const module = Object.prototype.toString.call(value) === "[object Module]" || "__esModule" in value;
  if (!module && !("CallbackManager" in value) && !("AsyncLocalStorageProviderSingleton" in value)) return [];
  return Object.values(value).filter((part): part is object => {
    if ((typeof part !== "object" && typeof part !== "function") || part === null) return false;
    const kind =
      Object.prototype.toString.call(part) === "[object Module]" ? undefined : partOf(part as object);
    return kind !== undefined && kind !== "module" && kind !== "model";
  });
}

/** Instruments a part of LangChain; false when it refuses. */
export function instrumentLangChain(value: object, options: OpenAIOptions = {}): boolean {
  switch (partOf(value)) {
    case "manager":
      return patchManager(value);
    case "embeddings":
      return patchEmbeddings(typeof value === "function" ? value.prototype : value, options);
    case "context":
      return patchContext(value);
    case "caller":
      return patchCaller((value as { prototype: object }).prototype);
    case "model":
      prepare(value as Loose, options);
      findManager(value as Loose);
      return patchModel(value, options);
    case "model class":
      findManager((value as unknown as { prototype: Loose }).prototype);
      return patchModel((value as unknown as { prototype: object }).prototype, options);
    default:
      return partsOf(value).every((part) => instrumentLangChain(part, options));
  }
}

/** Has the handler told of every run, by the argument: added to the result it would cost the root run its tags. */
function patchManager(manager: object): boolean {
  return patch(manager, "_configureSync", (original) => {
    return function (inheritable, ...rest) {
      return original.call(this, withHandler(inheritable), ...rest);
    };
  });
}

/** The callbacks with our handler before them; the caller's own list or manager stays as it is. */
function withHandler(inheritable: unknown): unknown {
  try {
    patchStorage();
    const scope = currentScope();
    if (scope?.suppressed === true || !isRecording(scope?.rollout)) return inheritable;
    if (inheritable === undefined || inheritable === null) return [handler];
    if (Array.isArray(inheritable)) {
      return inheritable.includes(handler) ? inheritable : [handler, ...inheritable];
    }
    const { handlers, copy } = inheritable as Loose;
    if (!Array.isArray(handlers) || handlers.includes(handler) || typeof copy !== "function")
      return inheritable;
    return Reflect.apply(copy, inheritable, [[handler], true]);
  } catch {
    return inheritable;
  }
}

/** Finds the callback manager's class through a model: LangChain makes one when it merges two configurations. */
function findManager(model: Loose): void {
  patchStorage();
  const runnable = ownerOf(model, "pipe") as Loose | undefined;
  if (runnable !== undefined) findLambda(runnable);
  const withConfig = runnable?.["withConfig"];
  if (typeof withConfig !== "function") return;
  const none = { handlers: [], inheritableHandlers: [], tags: [], inheritableTags: [], metadata: {} };
  const take = (config: unknown): void => {
    const made: unknown = isObject(config) && isObject(config["callbacks"]) ? config["callbacks"] : {};
    const Manager = (made as object).constructor;
    if (partOf(Manager) === "manager") patchManager(Manager);
  };
  let merged: unknown;
  // The merged configuration is given back a turn of the promise queue later, when a run may have started already.
  // Its prototype comes from the first one, and sees the manager at once.
  const spy = {
    get callbacks(): unknown {
      return merged;
    },
    set callbacks(value: unknown) {
      merged = value;
      take({ callbacks: value });
    },
  };
  try {
    const binding: unknown = withConfig.call(Object.create(runnable as object), { ["__proto__"]: spy });
    const merge = isObject(binding) ? binding["_mergeConfig"] : undefined;
    if (typeof merge !== "function") return;
    Promise.resolve(merge.call(binding, { callbacks: none }, { callbacks: none })).then(take, () => {});
  } catch {
    // Another version of LangChain: only its models are seen.
  }
}

/** Finds the class of the program's own functions, which LangChain makes when a function is put behind a runnable. */
function findLambda(runnable: Loose): void {
  try {
    const sequence: unknown = Reflect.apply(runnable["pipe"] as () => unknown, Object.create(runnable), [
      () => 0,
    ]);
    const lambda = isObject(sequence) ? ownerOf(sequence["last"], "_invoke") : undefined;
    if (lambda !== undefined) patchLambda(lambda);
  } catch {
    // As above.
  }
}
