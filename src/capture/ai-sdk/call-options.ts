/**
 * The options of a function or agent of the AI SDK with everything in them instrumented.
 *
 * @module
 */
import { isThenable } from "../../internal/thenable.ts";
import { isObject, type Loose } from "../openai/shape.ts";
import { isModel, isProvider, type ModelKind } from "./kinds.ts";
import { instrumentModel, type ModelOptions } from "./model.ts";
import { instrumentTools } from "./tools.ts";

/** What instrumenting needs to know of the module. */
export interface ModuleContext extends ModelOptions {
  /** The module's own functions. */
  readonly ai: Loose;
}

/** A copy of `options` whose model, tools and step preparation are instrumented. */
export function instrumentOptions(
  options: Loose,
  context: ModuleContext,
  kind: ModelKind = "language",
): Loose {
  const copy: Loose = { ...options };
  if ("model" in options) copy["model"] = modelOf(options["model"], context, kind);
  if (isObject(options["tools"])) copy["tools"] = instrumentTools(options["tools"]);
  for (const name of ["prepareStep", "experimental_prepareStep", "prepareCall"]) {
    const prepare = options[name];
    if (typeof prepare === "function") copy[name] = wrapPrepare(prepare as Prepare, context);
  }
  return copy;
}

type Prepare = (this: unknown, ...args: unknown[]) => unknown;

/** A step may go to another model than the call. */
function wrapPrepare(prepare: Prepare, context: ModuleContext): Prepare {
  const seen = (prepared: unknown): unknown =>
    isObject(prepared) && ("model" in prepared || "tools" in prepared)
      ? instrumentOptions(prepared, context)
      : prepared;
  return function (this: unknown, ...args: unknown[]): unknown {
    const prepared = prepare.apply(this, args);
    return isThenable(prepared) ? prepared.then(seen) : seen(prepared);
  };
}

/** The model, instrumented; a name is looked up as the SDK would, and left alone when it is not known. */
function modelOf(model: unknown, context: ModuleContext, kind: ModelKind): unknown {
  if (isModel(model)) return instrumentModel(model, context) ?? model;
  if (typeof model !== "string") return model;
  try {
    const globals = globalThis as unknown as Loose;
    const provider = globals["AI_SDK_DEFAULT_PROVIDER"] ?? context.ai["gateway"];
    if (!isProvider(provider)) return model;
    // Version 5 has another name for embedding models.
    const create = provider[`${kind}Model`] ?? provider["textEmbeddingModel"];
    const found: unknown = Reflect.apply(create as () => unknown, provider, [model]);
    return isModel(found) ? (instrumentModel(found, context) ?? model) : model;
  } catch {
    // The SDK meets the same error, and tells it in its own words.
    return model;
  }
}
