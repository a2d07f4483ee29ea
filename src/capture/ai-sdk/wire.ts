/**
 * Sees the HTTP request of a model call. The AI SDK's providers call the global `fetch` at the time of the request;
 * outside of a model call that is being recorded it is passed straight through.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { currentScope } from "../../trace/scope.ts";
import { type EventListener, tapEvents } from "./response-events.ts";

/** Receives what goes over the wire during one model call. */
export interface WireListener extends EventListener {
  /** A request is about to leave; gives the body to send. Called once a request. */
  request(url: URL, body: string, signal: unknown): string;
}

const listeners = ownGlobal("ai-sdk-wire", () => new WeakMap<OpenSpan, WireListener>());

/** Has `listener` told of the requests that are sent while code runs in the scope of `span`. */
export function listenToWire(span: OpenSpan, listener: WireListener): void {
  tapGlobalFetch();
  listeners.set(span, listener);
}

const TAPPED = Symbol.for("agentlightning.fetch");
type Fetch = typeof globalThis.fetch;

/** Runs when a model call starts: whoever has replaced `fetch` since the last one is inside again. */
function tapGlobalFetch(): void {
  const original = globalThis.fetch;
  if (typeof original !== "function" || TAPPED in original) return;
  const fetch = function (this: unknown, ...args: Parameters<Fetch>): ReturnType<Fetch> {
    const span = currentScope()?.span;
    const listener = span === undefined ? undefined : listeners.get(span);
    if (listener === undefined) return Reflect.apply(original, this, args);
    return send(original, this, args, listener);
  };
  Object.defineProperties(fetch, {
    ...Object.getOwnPropertyDescriptors(original),
    [TAPPED]: { value: original },
  });
  // Refused where globals are frozen; calls are then recorded from what the models give.
  Reflect.set(globalThis, "fetch", fetch);
}

function send(
  original: Fetch,
  self: unknown,
  args: Parameters<Fetch>,
  listener: WireListener,
): ReturnType<Fetch> {
  try {
    const [input, init] = args;
    if ((typeof input === "string" || input instanceof URL) && typeof init?.body === "string") {
      const body = listener.request(new URL(input), init.body, init.signal);
      if (body !== init.body) args = [input, { ...init, body }];
    }
  } catch {
    // A request that cannot be read is sent as it is.
  }
  const sent: ReturnType<Fetch> = Reflect.apply(original, self, args);
  // A stand-in of a test may give anything.
  if (!(sent instanceof Promise)) return sent;
  return sent.then((response) => {
    try {
      tapEvents(response, listener);
    } catch {
      // The answer is recorded from what the model makes of it.
    }
    return response;
  });
}
