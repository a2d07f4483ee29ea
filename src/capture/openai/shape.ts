/**
 * Values of a vendor's SDK, known only by their shape: nothing of it is imported, so nothing can be an `instanceof`.
 *
 * @module
 */

/** An object of which nothing is known. */
export type Loose = Record<PropertyKey, unknown>;

/** True for objects and arrays; functions are not meant. */
export function isObject(value: unknown): value is Loose {
  return typeof value === "object" && value !== null;
}

/** The object at `path`, or undefined when a step is missing; `path` is one of property names. */
export function objectAt(root: unknown, path: readonly string[]): Loose | undefined {
  let value = root;
  for (const name of path) {
    if (!isObject(value)) return undefined;
    value = value[name];
  }
  return isObject(value) ? value : undefined;
}

/** A deep copy of JSON values: what is recorded later must not follow the user's changes. */
export function copyJson(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (Array.isArray(value)) {
    const copy = new Array<unknown>(value.length);
    for (let i = 0; i < value.length; i++) copy[i] = copyJson(value[i]);
    return copy;
  }
  const copy: Loose = {};
  for (const name in value) copy[name] = copyJson(value[name]);
  return copy;
}

/** `value` as JSON; undefined for what has none (cycles, BigInt, functions). Runs the value's own `toJSON`. */
export function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) as string | undefined;
  } catch {
    return undefined;
  }
}
