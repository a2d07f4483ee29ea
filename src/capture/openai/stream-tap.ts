/**
 * Listens to a stream while its consumer reads it. The stream, its iterator and the promises that the consumer awaits
 * stay the very same objects: `tee()`, `toReadableStream()` and `controller` work as before, a chunk is seen only when
 * the consumer asks for it, and nothing is read after the consumer has left.
 *
 * @module
 */
import { hide } from "../../internal/hide.ts";
import { isThenable } from "../../internal/thenable.ts";
import type { ModelCall } from "./call.ts";
import { isObject, type Loose, objectAt } from "./shape.ts";

type Step = (this: unknown, value?: unknown) => unknown;

/** True for what is read with `for await`. */
export function isStream(value: unknown): value is Loose {
  return isObject(value) && typeof value[Symbol.asyncIterator] === "function";
}

/** Reports the chunks of `stream` and its end to `call`. */
export function tapStream(stream: Loose, call: ModelCall): void {
  call.streaming(objectAt(stream, ["controller", "signal"]));
  // Every reader of the SDK's streams, also a branch of `tee()`, goes through this property of theirs.
  if (typeof stream["iterator"] === "function") tapFactory(stream, "iterator", call);
  else if (typeof stream["next"] === "function") tapIterator(stream, call);
  else tapFactory(stream, Symbol.asyncIterator, call);
}

/** Taps the first iterator that the method `name` gives; the SDK refuses a second. */
function tapFactory(stream: Loose, name: PropertyKey, call: ModelCall): void {
  const create = stream[name] as () => unknown;
  let tapped = false;
  const tap = function (this: unknown): unknown {
    const iterator = create.call(this);
    if (!tapped && isObject(iterator)) {
      tapped = true;
      tapIterator(iterator, call);
    }
    return iterator;
  };
  if (Object.hasOwn(stream, name)) stream[name] = tap;
  else hide(stream, name, tap);
}

function tapIterator(iterator: Loose, call: ModelCall): void {
  const next = iterator["next"] as Step;
  const onStep = (step: unknown): void => {
    if (!isObject(step)) return;
    if (step["done"] === true) call.finished();
    else call.chunk(step["value"]);
  };
  const onError = (error: unknown): void => call.failed(error);
  const take = (self: unknown, value: unknown): unknown => {
    const step = next.call(self, value);
    if (!isThenable(step)) {
      onStep(step);
      return step;
    }
    // The promise stays the consumer's own; our reaction runs before theirs because it was there first.
    step.then(onStep, onError);
    if (!call.hideUsage) return step;
    return step.then((result) => (isUsageStep(result) ? take(self, undefined) : result));
  };
  hide(iterator, "next", function (this: unknown, value?: unknown): unknown {
    return take(this, value);
  });
  for (const name of ["return", "throw"]) {
    const leave = iterator[name];
    if (typeof leave !== "function") continue;
    hide(iterator, name, function (this: unknown, value?: unknown): unknown {
      call.left();
      return leave.call(this, value);
    });
  }
}

/** True for the chunk that `stream_options.include_usage` adds: usage, and no choice. */
function isUsageStep(step: unknown): boolean {
  const chunk = objectAt(step, ["value"]);
  return (
    chunk !== undefined &&
    Array.isArray(chunk["choices"]) &&
    chunk["choices"].length === 0 &&
    isObject(chunk["usage"])
  );
}
