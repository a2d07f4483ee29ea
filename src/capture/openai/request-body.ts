/**
 * The body of a request as it was sent. The SDK has made its JSON already; serialising a long conversation a second
 * time would cost more than the rest of the capture.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import { hide, isObject, type Loose } from "./shape.ts";

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

/**
 * Listens at the client's `prepareRequest`, which the SDK calls with each request that it is about to send; false
 * when the client has none.
 */
export function hookPrepareRequest(client: Loose): boolean {
  const prepare = client["prepareRequest"];
  if (typeof prepare !== "function") return false;
  function prepareRequest(this: unknown, request: unknown, about: unknown): unknown {
    if (isObject(request) && isObject(about)) tell(about["options"], request["body"]);
    return Reflect.apply(prepare as () => unknown, this, [request, about]);
  }
  return hide(client, "prepareRequest", prepareRequest);
}

function tell(options: unknown, json: unknown): void {
  if (typeof json !== "string" || !isObject(options) || !isObject(options["body"])) return;
  const body = options["body"];
  let receiver = waiting.get(body);
  if (receiver === undefined) return;
  waiting.delete(body);
  while (receiver !== undefined) {
    receiver.sentBody ??= json;
    const next: BodyReceiver | undefined = receiver.sameBody;
    receiver.sameBody = undefined;
    receiver = next;
  }
}
