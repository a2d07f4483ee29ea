/**
 * The body of a request as it was sent. The SDK has made its JSON already; serialising a long conversation a second
 * time would cost more than the rest of the capture.
 *
 * @module
 */
import { hidden, hide } from "../../internal/hide.ts";
import { ownGlobal } from "../../internal/own-global.ts";
import { isObject, type Loose } from "./shape.ts";

/** Where the JSON of a body is put. */
export interface BodyReceiver {
  /** JSON text of the body that was sent first; retries send the same. */
  sentBody: string | undefined;
  /** Another call that was made with the same body object and waits for its JSON too. */
  sameBody: BodyReceiver | undefined;
}

const waiting = ownGlobal("openai-bodies", () => new WeakMap<object, BodyReceiver>());

/** Has `receiver` told the JSON of `body` once the SDK has made it. */
export function awaitBody(body: object, receiver: BodyReceiver): void {
  receiver.sameBody = waiting.get(body);
  waiting.set(body, receiver);
}

/** What stands for `body` when it is sent: the object itself, or its field `key`. */
export function bodyMark(body: Loose, key: string | undefined): unknown {
  return key === undefined ? body : body[key];
}

/**
 * Listens at the client's `prepareRequest`, which the SDK calls with each request that it is about to send; false
 * when the client has none. `key` is the one of {@link bodyMark}.
 */
export function hookPrepareRequest(client: Loose, key?: string): boolean {
  const prepare = hidden(client, "prepareRequest");
  if (typeof prepare !== "function") return false;
  function prepareRequest(this: unknown, request: unknown, about: unknown): unknown {
    if (isObject(request) && isObject(about)) tell(about["options"], request["body"], key);
    return Reflect.apply(prepare as () => unknown, this, [request, about]);
  }
  return hide(client, "prepareRequest", prepareRequest);
}

function tell(options: unknown, json: unknown, key: string | undefined): void {
  if (typeof json !== "string" || !isObject(options) || !isObject(options["body"])) return;
  const mark = bodyMark(options["body"], key);
  if (!isObject(mark)) return;
  let receiver = waiting.get(mark);
  if (receiver === undefined) return;
  waiting.delete(mark);
  while (receiver !== undefined) {
    receiver.sentBody ??= json;
    const next: BodyReceiver | undefined = receiver.sameBody;
    receiver.sameBody = undefined;
    receiver = next;
  }
}
