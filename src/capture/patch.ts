/**
 * Replaces one method of a framework's class or object, once.
 *
 * @module
 */
import { hidden, hide } from "../internal/hide.ts";
import { WRAPPED } from "./openai/create.ts";

/** Any method. */
export type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Puts `wrap(original)` in the place of `owner[name]`; false when there is no such method or the owner refuses. */
export function patch(owner: object, name: string, wrap: (original: Method) => Method): boolean {
  const original = hidden(owner, name);
  if (typeof original !== "function") return false;
  if (Object.hasOwn(original, WRAPPED)) return true;
  const method = wrap(original as Method);
  Object.defineProperties(method, {
    name: { value: original.name, configurable: true },
    length: { value: original.length, configurable: true },
    [WRAPPED]: { value: original },
  });
  return hide(owner, name, method);
}

/** The object on the prototype chain of `value` that has `name` of its own. */
export function ownerOf(value: unknown, name: string): object | undefined {
  let owner: unknown = value;
  while (owner !== null && (typeof owner === "object" || typeof owner === "function")) {
    if (Object.hasOwn(owner, name)) return owner;
    owner = Object.getPrototypeOf(owner);
  }
  return undefined;
}
