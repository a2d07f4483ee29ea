/**
 * Attributes in the form that every reader of the store can take: scalars, and lists of one scalar type.
 *
 * Python's span model refuses anything else, and one refused span makes a whole query fail there. So a map or a
 * mixed list is kept as its JSON text, a number that JSON cannot hold as its name, and a null is left out.
 *
 * @module
 */
import type { Json } from "../json.ts";
import type { SpanAttributes } from "../span.ts";

/** A decoded value: JSON, and numbers that JSON cannot hold. */
export type RawValue = Json | RawValue[] | { [key: string]: RawValue };

/** Sets a key that a sender chose; `__proto__` becomes a key like any other. */
export function setOwn<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}

/** Sets an attribute in its storable form; a null sets nothing. */
export function setAttribute(target: SpanAttributes, key: string, value: RawValue): void {
  if (value !== null) setOwn(target, key, storable(value));
}

/** All attributes in their storable form; the same object when they have it already. */
export function storableAttributes(attributes: SpanAttributes): SpanAttributes {
  for (const key of Object.keys(attributes)) {
    const value = attributes[key] as Json;
    if (value === null || storable(value) !== value) {
      const result: SpanAttributes = {};
      for (const [name, each] of Object.entries(attributes)) setAttribute(result, name, each);
      return result;
    }
  }
  return attributes;
}

function storable(value: Exclude<RawValue, null>): Json {
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value !== "object") return value;
  if (!Array.isArray(value)) return asText(value);
  const type = typeof value[0];
  if (value.length > 0 && type !== "string" && type !== "number" && type !== "boolean") return asText(value);
  let finite = true;
  for (const item of value) {
    // Whole numbers too large for a float arrive as digits: a list that has one becomes a list of digits.
    if (typeof item !== type) return isNumeric(value) ? value.map(String) : asText(value);
    if (type === "number" && !Number.isFinite(item as number)) finite = false;
  }
  return finite ? (value as Json[]) : value.map(String);
}

function isNumeric(values: RawValue[]): boolean {
  return values.every(
    (item) => typeof item === "number" || (typeof item === "string" && /^-?\d+$/.test(item)),
  );
}

function asText(value: RawValue): string {
  return JSON.stringify(value, (_, each) =>
    typeof each === "number" && !Number.isFinite(each) ? String(each) : each,
  );
}
