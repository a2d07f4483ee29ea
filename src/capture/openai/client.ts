/**
 * Instruments an OpenAI-shaped client in place.
 *
 * @module
 */
import { hidden, hide } from "../../internal/hide.ts";
import { ownGlobal } from "../../internal/own-global.ts";
import { type ClientContext, WRAPPED, wrapCreate } from "./create.ts";
import { OPERATIONS, type Operation } from "./operations.ts";
import { hookPrepareRequest } from "./request-body.ts";
import type { OpenAIOptions } from "./settings.ts";
import { isObject, type Loose, objectAt } from "./shape.ts";

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** What was chosen for each client that was given by hand, for calls that are recorded at its class. */
export const chosen = ownGlobal("openai-clients", () => new WeakMap<object, OpenAIOptions>());

/** True for a client of openai or one that looks like it: `chat.completions.create` or `responses.create`. */
export function isOpenAIClient(value: object): value is Loose {
  return OPERATIONS.some(({ path }) => {
    // A client of Anthropic's has `completions` and `messages` too.
    if (path[0] === "completions" && "messages" in value) return false;
    return typeof objectAt(value, path)?.["create"] === "function";
  });
}

/**
 * Replaces `create` of the client's resources, those of `operations`, and keeps the clients that `withOptions` makes
 * instrumented.
 *
 * @returns false when the client refuses it, being frozen
 */
export function instrumentOpenAI(
  client: Loose,
  options: OpenAIOptions = {},
  operations: readonly Operation[] = OPERATIONS,
): boolean {
  const { proxy, capture = proxy === undefined } = options;
  if (!chosen.has(client)) chosen.set(client, options);
  if (proxy !== undefined) pointAt(client, proxy);
  const done = capture ? patchResources(client, options, operations) : true;
  patchWithOptions(client, options, operations);
  return done;
}

function pointAt(client: Loose, proxy: NonNullable<OpenAIOptions["proxy"]>): void {
  Reflect.set(client, "baseURL", proxy.baseURL);
  if (proxy.apiKey !== undefined) Reflect.set(client, "apiKey", proxy.apiKey);
}

function patchResources(
  client: Loose,
  { tokenIds = "auto" }: OpenAIOptions,
  operations: readonly Operation[],
): boolean {
  const targets = operations.flatMap((operation) => {
    const resource = objectAt(client, operation.path);
    const create = resource && hidden(resource, "create");
    if (resource === undefined || typeof create !== "function" || WRAPPED in create) return [];
    return [{ operation, resource, create: create as Method }];
  });
  if (targets.length === 0) return true;
  if (targets.some(({ resource }) => !Object.isExtensible(resource))) return false;
  const context: ClientContext = {
    client,
    tokenIds,
    tellsBody: hookPrepareRequest(client, operations[0]?.vendor?.bodyKey),
  };
  let done = true;
  for (const { operation, resource, create } of targets) {
    done =
      hide(
        resource,
        "create",
        wrapCreate(create, operation, () => context),
      ) && done;
  }
  return done;
}

function patchWithOptions(client: Loose, options: OpenAIOptions, operations: readonly Operation[]): void {
  const original = hidden(client, "withOptions");
  if (typeof original !== "function" || WRAPPED in original) return;
  const withOptions = function (this: unknown, ...args: unknown[]): unknown {
    const child: unknown = original.apply(this, args);
    if (isObject(child)) instrumentOpenAI(child, options, operations);
    return child;
  };
  Object.defineProperties(withOptions, {
    name: { value: original.name, configurable: true },
    length: { value: original.length, configurable: true },
    [WRAPPED]: { value: original },
  });
  hide(client, "withOptions", withOptions);
}
