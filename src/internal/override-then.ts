/**
 * Puts another `then` before a promise's own.
 *
 * @module
 */
import { hide } from "./hide.ts";

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
