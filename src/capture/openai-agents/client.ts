/**
 * Finds the OpenAI clients of the SDK's models, to record the calls where the token ids are.
 *
 * @module
 */
import { hide } from "../../internal/hide.ts";
import { currentScope, type InnerCalls } from "../../trace/scope.ts";
import { chosen, instrumentOpenAI, isOpenAIClient } from "../openai/client.ts";
import { WRAPPED } from "../openai/create.ts";
import type { OpenAIOptions } from "../openai/settings.ts";
import { isObject, type Loose, objectAt } from "../openai/shape.ts";

/** Where the calls inside a model's call are counted. */
export interface CallPlace extends InnerCalls {
  /** What was chosen for the module. */
  readonly chosen: OpenAIOptions;
}

/** Opens the place of a call; the client of `model` is instrumented where it can be seen. */
export function openPlace(model: unknown, outer: InnerCalls | undefined, options: OpenAIOptions): CallPlace {
  const elsewhere = adopt(isObject(model) ? model["_client"] : undefined, options);
  return { calls: elsewhere || options.proxy !== undefined ? 1 : 0, outer, chosen: options };
}

/**
 * Instruments a client once; one that the program has given by hand stays as it was told.
 *
 * @returns true when somebody else records its calls
 */
export function adopt(client: unknown, options: OpenAIOptions): boolean {
  if (!isObject(client) || !isOpenAIClient(client)) return false;
  const given = chosen.get(client);
  if (given === undefined) instrumentOpenAI(client, options);
  return given !== undefined && (given.proxy !== undefined || given.capture === false);
}

const trapped = new WeakSet<object>();

/**
 * The model of chat completions hides its client. The class of the client, of the copy of openai that the SDK uses, is
 * known through a provider's model: its method `create` tells of a client when a model calls it, and of nothing else.
 */
export function findClients(agents: Loose): void {
  const { OpenAIProvider } = agents;
  if (typeof OpenAIProvider !== "function") return;
  try {
    const options = { apiKey: "none", useResponses: true, useResponsesWebSocket: false };
    const provider = Reflect.construct(OpenAIProvider, [options]) as Loose;
    const model: unknown = Reflect.apply(provider["getModel"] as () => unknown, provider, ["none"]);
    Promise.resolve(model).then(
      (made) => {
        for (const path of [["chat", "completions"], ["responses"]]) {
          const resource = objectAt(made, ["_client", ...path]);
          if (resource !== undefined) trap(Object.getPrototypeOf(resource) as Loose);
        }
      },
      () => {},
    );
  } catch {
    // No client can be made here (in a browser, without the user's consent).
  }
}

function trap(prototype: Loose): void {
  const original = prototype["create"];
  if (typeof original !== "function" || WRAPPED in original || trapped.has(prototype)) return;
  trapped.add(prototype);
  const create = function (this: Loose, ...args: unknown[]): unknown {
    const place = currentScope()?.inner;
    if (place !== undefined && "chosen" in place && !Object.hasOwn(this, "create")) {
      try {
        const own = place as CallPlace;
        if (adopt(this["_client"], own.chosen)) own.calls++;
      } catch {
        // The call is recorded from what the model gives.
      }
      if (Object.hasOwn(this, "create")) return (this["create"] as typeof create)(...args);
    }
    return original.apply(this, args);
  };
  Object.defineProperties(create, Object.getOwnPropertyDescriptors(original));
  hide(prototype, "create", create);
}
