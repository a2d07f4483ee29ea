/**
 * Records the calls of every client of a copy of openai, or of Anthropic's SDK, at the classes of its resources: the
 * clients may have been made already or not, and stay as they are.
 *
 * @module
 */
import { hide } from "../../internal/hide.ts";
import { chosen } from "./client.ts";
import { type ClientContext, WRAPPED, wrapCreate } from "./create.ts";
import { OPERATIONS, type Operation } from "./operations.ts";
import { hookPrepareRequest } from "./request-body.ts";
import { isObject, type Loose } from "./shape.ts";

type Method = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Replaces `create` of the resources whose classes hang on `Client`, the class of the clients.
 *
 * @returns false when the first of `operations` is not where it is in the known versions
 */
export function instrumentClientClass(
  Client: unknown,
  operations: readonly Operation[] = OPERATIONS,
): boolean {
  const found = operations.map((operation) => {
    const prototype = classAt(Client, operation.path)?.["prototype"];
    const create = isObject(prototype) ? prototype["create"] : undefined;
    if (!isObject(prototype) || typeof create !== "function") return false;
    return WRAPPED in create || hide(prototype, "create", wrap(create as Method, operation));
  });
  return found[0] === true;
}

/** The resource at `chat.completions` is of the class `Client.Chat.Completions`. */
function classAt(Client: unknown, path: readonly string[]): Loose | undefined {
  let value = Client;
  for (const [first = "", ...rest] of path) {
    if (typeof value !== "function") return undefined;
    value = (value as unknown as Loose)[first.toUpperCase() + rest.join("")];
  }
  return typeof value === "function" ? (value as unknown as Loose) : undefined;
}

const contexts = new WeakMap<object, ClientContext>();

function clientOf(resource: unknown): Loose {
  const client = isObject(resource) ? resource["_client"] : undefined;
  return isObject(client) ? client : {};
}

function contextOf(resource: unknown, { vendor }: Operation): ClientContext {
  const client = clientOf(resource);
  let context = contexts.get(client);
  if (context === undefined) {
    const { tokenIds = "auto" } = chosen.get(client) ?? {};
    context = { client, tokenIds, tellsBody: hookPrepareRequest(client, vendor?.bodyKey) };
    contexts.set(client, context);
  }
  return context;
}

function wrap(original: Method, operation: Operation): Method {
  const recorded = wrapCreate(original, operation, (resource) => contextOf(resource, operation));
  const create: Method = function (this: unknown, ...args: unknown[]): unknown {
    const { proxy, capture = proxy === undefined } = chosen.get(clientOf(this)) ?? {};
    return (capture ? recorded : original).apply(this, args);
  };
  Object.defineProperties(create, Object.getOwnPropertyDescriptors(recorded));
  return create;
}
