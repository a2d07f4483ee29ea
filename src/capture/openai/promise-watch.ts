/**
 * Learns what becomes of the promise that a vendor's method gave, without changing when or whether anything happens:
 * the SDK's promises read the body only when somebody asks, and so they must stay.
 *
 * @module
 */
import { hide } from "../../internal/hide.ts";
import { isThenable, observeThen, overrideThen } from "../../internal/thenable.ts";
import { tapEvents } from "../ai-sdk/response-events.ts";
import type { ModelCall } from "./call.ts";
import { isObject, type Loose, objectAt } from "./shape.ts";
import { isStream, tapStream } from "./stream-tap.ts";

type Method = (...args: unknown[]) => unknown;

/** Reports the outcome of `result` to `call`; gives what the user gets in its place, nearly always `result` itself. */
export function watch(result: unknown, call: ModelCall): unknown {
  if (!isThenable(result)) {
    deliver(result, call);
    return result;
  }
  if (isSdkPromise(result)) {
    watchSdkPromise(result, call);
    return result;
  }
  if (Object.getPrototypeOf(result) === Promise.prototype) return watchNative(result, call);
  watchThenable(result, call);
  return result;
}

function deliver(value: unknown, call: ModelCall): void {
  if (call.delivered) return;
  call.delivered = true;
  if (!isStream(value)) {
    call.answered(value);
    return;
  }
  try {
    tapStream(value, call);
  } catch {
    // A frozen stream: its chunks cannot be seen.
    call.finished();
  }
}

/**
 * An `APIPromise` of openai 4 to 7 or of Anthropic's SDK: its response, and the function that reads the body, are
 * fields of its own.
 */
interface SdkPromise {
  parseResponse: Method;
  responsePromise: Loose & PromiseLike<unknown>;
  _thenUnwrap?: Method;
}

function isSdkPromise(value: Loose): value is Loose & SdkPromise {
  return (
    typeof value["parseResponse"] === "function" &&
    Object.hasOwn(value, "parseResponse") &&
    Object.hasOwn(value, "responsePromise") &&
    isThenable(value["responsePromise"])
  );
}

function watchSdkPromise(promise: SdkPromise & Loose, call: ModelCall): void {
  watchParse(promise, call);
  watchUnwrap(promise, call);
  watchResponse(promise.responsePromise, call);
  watchProps(promise, call);
}

/** `then`, `catch`, `finally`, `withResponse` and `_thenUnwrap` all come through here, each time. */
function watchParse(promise: SdkPromise, call: ModelCall): void {
  const parse = promise.parseResponse;
  promise.parseResponse = (...args) => {
    call.reading = true;
    const parsed = parse.apply(promise, args);
    if (isThenable(parsed)) {
      parsed.then(
        (value) => deliver(value, call),
        (error: unknown) => call.failed(error),
      );
    }
    return parsed;
  };
}

/** openai 7.20 and later give each promise a `_thenUnwrap` of its own that reads the body past `parseResponse`. */
function watchUnwrap(promise: SdkPromise, call: ModelCall): void {
  if (!Object.hasOwn(promise, "_thenUnwrap")) return;
  const unwrap = promise._thenUnwrap as Method;
  promise._thenUnwrap = (transform) => {
    const derived = unwrap((value: unknown, ...rest: unknown[]) => {
      deliver(value, call);
      return (transform as Method)(value, ...rest);
    });
    if (isObject(derived) && isSdkPromise(derived)) {
      watchParse(derived, call);
      watchUnwrap(derived, call);
    }
    return derived;
  };
}

/**
 * Listens to the response without being the first to ask for it: a handler of ours on an otherwise untouched promise
 * would silence the rejection that nobody handles.
 */
function watchResponse(response: PromiseLike<unknown>, call: ModelCall): void {
  overrideThen(
    response,
    (then) =>
      function (this: unknown, onDone, onFailed) {
        const done =
          typeof onDone === "function"
            ? (value: unknown) => {
                const out: unknown = onDone(value);
                if (!call.reading) call.responded();
                return out;
              }
            : onDone;
        const failed = (error: unknown) => {
          call.failed(error);
          if (typeof onFailed === "function") return onFailed(error);
          throw error;
        };
        return then.call(this, done, failed);
      },
  );
}

/** Anthropic's threads take the response from here, and read a stream of it past this promise. */
function watchProps(promise: SdkPromise & Loose, call: ModelCall): void {
  const props = promise["_responseProps"];
  if (typeof props !== "function") return;
  hide(promise, "_responseProps", function (this: unknown): unknown {
    const given: unknown = props.call(this);
    if (isThenable(given)) given.then((value) => readProps(value, call)).then(undefined, () => {});
    return given;
  });
}

function readProps(props: unknown, call: ModelCall): void {
  if (!isObject(props) || objectAt(props, ["options"])?.["stream"] !== true) return;
  call.reading = true;
  call.streaming(objectAt(props, ["controller", "signal"]));
  tapEvents(props["response"] as Response, {
    event: (event) => {
      call.chunk(event);
      return true;
    },
    finished: () => call.finished(),
    failed: (error) => call.failed(error),
    left: () => call.left(),
  });
}

/** `await` on a native promise looks at no method of it, so there is nothing to listen at. */
function watchNative(promise: Loose & PromiseLike<unknown>, call: ModelCall): unknown {
  const derived = promise.then(
    (value) => {
      deliver(value, call);
      return value;
    },
    (error: unknown) => {
      call.failed(error);
      throw error;
    },
  );
  if (Object.getOwnPropertyNames(promise).length === 0) return derived;
  // Somebody's methods hang on the promise, which a derived one would lose.
  derived.then(undefined, () => {});
  return promise;
}

/** Any other lazy promise: seen through its `then`, which `await` calls too, and through `_thenUnwrap`. */
function watchThenable(promise: Loose & PromiseLike<unknown>, call: ModelCall): void {
  observeThen(
    promise,
    (value) => deliver(value, call),
    (error) => call.failed(error),
  );
  const unwrap = promise["_thenUnwrap"];
  if (typeof unwrap !== "function") return;
  hide(promise, "_thenUnwrap", function (this: unknown, transform: Method): unknown {
    return unwrap.call(this, (value: unknown, ...rest: unknown[]) => {
      deliver(value, call);
      return transform(value, ...rest);
    });
  });
}
