/**
 * Promises and what is like them: telling them from other values, and another `then` before their own.
 *
 * @module
 */
import { hide } from "./hide.ts";

/** True for anything with a `then` method. */
export function isThenable(value: unknown): value is PromiseLike<unknown> & Record<PropertyKey, unknown> {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return typeof (value as { then?: unknown }).then === "function";
}

/** What a promise's `then` is replaced by; it has the promise as `this`. */
export type Then = (this: unknown, onDone?: unknown, onFailed?: unknown) => unknown;

const REPLACEMENT: unique symbol = Symbol("agentlightning.then");

interface Replaced {
  [REPLACEMENT]: Then;
}

/** One for each prototype that a promise had: an object that changes to a new prototype each time is dear. */
const prototypes = new WeakMap<object, object>();

function prototypeOver(original: object): object {
  let made = prototypes.get(original);
  if (made === undefined) {
    made = Object.create(original) as object;
    hide(made, "then", function (this: Replaced, onDone?: unknown, onFailed?: unknown): unknown {
      return this[REPLACEMENT](onDone, onFailed);
    });
    prototypes.set(original, made);
  }
  return made;
}

/**
 * Replaces the method `then` of this one object by what `make` gives for the one before; false when the object refuses.
 *
 * A promise gets it from a prototype in between. Once any promise has a `then` of its own, V8 no longer believes that
 * the others have none, and every `await` and every step of an async generator in the whole process becomes slower
 * (protector `PromiseThenLookupChain`; `node --trace-protector-invalidation` tells when one is lost).
 */
export function overrideThen(target: PromiseLike<unknown>, make: (original: Then) => Then): boolean {
  try {
    if (Object.hasOwn(target, "then")) return Reflect.set(target, "then", make(target.then as Then));
    if (!(target instanceof Promise)) return hide(target, "then", make(target.then as Then));
    const before = (target as Partial<Replaced>)[REPLACEMENT];
    if (before !== undefined) return hide(target, REPLACEMENT, make(before));
    return (
      hide(target, REPLACEMENT, make(target.then as Then)) &&
      Reflect.setPrototypeOf(target, prototypeOver(Object.getPrototypeOf(target) as object))
    );
  } catch {
    return false;
  }
}

/** Has `done` or `failed` told each time before whoever calls the `then` of `target`; false when the object refuses. */
export function observeThen(
  target: PromiseLike<unknown>,
  done: (value: unknown) => void,
  failed: (error: unknown) => void,
): boolean {
  return overrideThen(
    target,
    (original) =>
      function (this: unknown, onDone, onFailed) {
        return original.call(
          this,
          (value: unknown) => {
            done(value);
            return typeof onDone === "function" ? onDone(value) : value;
          },
          (error: unknown) => {
            failed(error);
            if (typeof onFailed === "function") return onFailed(error);
            throw error;
          },
        );
      },
  );
}
