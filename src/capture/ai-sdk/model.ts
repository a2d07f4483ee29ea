/**
 * Instruments the models of the AI SDK, in place.
 *
 * @module
 */
import { hidden, hide } from "../../internal/hide.ts";
import { WRAPPED } from "../openai/create.ts";
import { isObject, type Loose } from "../openai/shape.ts";
import { noteCall } from "./announced-calls.ts";
import { MODEL_METHODS, type ModelKind } from "./kinds.ts";
import { callModel } from "./model-call.ts";

/** What a caller of `instrument` can choose for models of the AI SDK. */
export interface ModelOptions {
  tokenIds?: "auto" | boolean;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Replaces the methods of `model` that ask a server; gives undefined when it refuses that. */
export function instrumentModel<M extends Loose>(model: M, options: ModelOptions = {}): M | undefined {
  for (const name of Object.keys(MODEL_METHODS) as Array<keyof typeof MODEL_METHODS>) {
    const original = hidden(model, name);
    if (typeof original !== "function" || WRAPPED in original) continue;
    if (!hide(model, name, wrap(original as Method, MODEL_METHODS[name], options))) return undefined;
  }
  return model;
}

function wrap(original: Method, kind: ModelKind, { tokenIds = "auto" }: ModelOptions): Method {
  const method: Method = function (this: unknown, ...args: unknown[]): unknown {
    const params = isObject(args[0]) ? args[0] : {};
    const { modelId, provider } = isObject(this) ? this : {};
    noteCall(modelId);
    return callModel({ kind, params, modelId, provider, tokenIds }, () => original.apply(this, args));
  };
  Object.defineProperties(method, {
    name: { value: original.name, configurable: true },
    length: { value: original.length, configurable: true },
    [WRAPPED]: { value: original },
  });
  return method;
}
