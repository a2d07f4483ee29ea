/**
 * The method `create` that takes the place of a resource's own.
 *
 * @module
 */
import { coveringNative } from "../../trace/native-spans.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { startSpan } from "../../trace/recorder.ts";
import { type ModelCall, openCall } from "./call.ts";
import type { Operation } from "./operations.ts";
import { watch } from "./promise-watch.ts";
import { awaitBody, bodyMark } from "./request-body.ts";
import { isObject, type Loose, toJson } from "./shape.ts";
import { askForTokens, isHosted } from "./token-request.ts";

/** Marks our methods, so that no copy of this package wraps them again; holds the method underneath. */
export const WRAPPED = Symbol.for("agentlightning.wrapped");

/** What the calls of one client share. */
export interface ClientContext {
  readonly client: Loose;
  readonly tokenIds: "auto" | boolean;
  /** True when the client tells the JSON of the bodies that it sends. */
  readonly tellsBody: boolean;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Wraps `original`; the result has its name and length. `contextOf` is asked by calls that are recorded. */
export function wrapCreate(
  original: Method,
  operation: Operation,
  contextOf: (resource: unknown) => ClientContext,
): Method {
  const create: Method = function (this: unknown, ...args: unknown[]): unknown {
    const span = startSpan(operation.span);
    if (span === undefined) return original.apply(this, args);
    const call = begin(span, operation, contextOf(this), args);
    let result: unknown;
    try {
      result =
        operation.vendor?.ownSpans === true
          ? coveringNative(args[1], () => original.apply(this, args))
          : original.apply(this, args);
    } catch (error) {
      call.failed(error);
      throw error;
    }
    try {
      return watch(result, call);
    } catch {
      // A result that refuses to be watched is the user's all the same.
      call.finished();
      return result;
    }
  };
  Object.defineProperties(create, {
    name: { value: original.name, configurable: true },
    length: { value: original.length, configurable: true },
    [WRAPPED]: { value: original },
  });
  return create;
}

/** Opens the call's record; puts the body that asks for token ids into `args`. */
function begin(span: OpenSpan, operation: Operation, context: ClientContext, args: unknown[]): ModelCall {
  const options = args[1];
  // The SDK spreads the options over its own, so a body among them is the one that is sent.
  const override = isObject(options) && isObject(options["body"]) ? options["body"] : undefined;
  let body: Loose = override ?? (isObject(args[0]) ? args[0] : {});
  const { baseURL } = context.client;
  let hideUsage = false;
  if (override === undefined && args.length > 0 && wantsTokens(span, context, baseURL)) {
    const extended = askForTokens(operation, body);
    if (extended !== undefined) {
      ({ body, hideUsage } = extended);
      args[0] = body;
    }
  }
  const call = openCall({ span, operation, body, options, baseURL, hideUsage });
  const mark = operation.keepsBody ? bodyMark(body, operation.vendor?.bodyKey) : undefined;
  if (context.tellsBody && isObject(mark)) awaitBody(mark, call);
  // Of a body that is sent as a copy the input is not recorded, which may be megabytes of text.
  else call.sentBody = toJson(operation.keepsBody ? body : { ...body, input: undefined });
  return call;
}

function wantsTokens(span: OpenSpan, context: ClientContext, baseURL: unknown): boolean {
  if (context.tokenIds !== "auto") return context.tokenIds;
  return span.rollout?.mode === "train" && !(typeof baseURL === "string" && isHosted(baseURL));
}
