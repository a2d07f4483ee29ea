/**
 * Nested values as flat attributes with dotted names, by upstream's rule: a list of one scalar type stays whole, any
 * other list is indexed; null and undefined are left out, since no attribute can carry them.
 *
 * @module
 */
import type { Attributes, AttributeValue } from "./json.ts";

/** How deep a value is followed; deeper parts are left out (a circular value has no end). */
const MAX_DEPTH = 32;

/** Options of {@link flatten}. */
export interface FlattenOptions {
  /** Index lists of scalars too, as upstream does for links and tags; false by default. */
  expandLists?: boolean;
}

/** Flattens `value` under `prefix`; `flatten("a", { b: [1, 2] })` gives `{ "a.b": [1, 2] }`. */
export function flatten(prefix: string, value: unknown, options: FlattenOptions = {}): Attributes {
  const out: Attributes = {};
  walk(prefix, value, options.expandLists === true, 0, out);
  return out;
}

function walk(name: string, value: unknown, expand: boolean, depth: number, out: Attributes): void {
  if (depth > MAX_DEPTH) return;
  const scalar = asScalar(value);
  if (scalar !== undefined) {
    out[name] = scalar;
  } else if (Array.isArray(value)) {
    const leaf = expand || name === "" ? undefined : asScalarList(value);
    if (leaf !== undefined) out[name] = leaf;
    else for (const [i, item] of value.entries()) walk(join(name, String(i)), item, expand, depth + 1, out);
  } else if (typeof value === "object" && value !== null) {
    const own = toPlain(value);
    if (typeof own !== "object") walk(name, own, expand, depth + 1, out);
    else for (const key of Object.keys(own)) walk(join(name, key), own[key], expand, depth + 1, out);
  }
}

const join = (prefix: string, key: string): string => (prefix === "" ? key : `${prefix}.${key}`);

/** Dates and the like say themselves how they are written as JSON. */
function toPlain(value: object): Record<string, unknown> | string {
  const json = (value as { toJSON?: unknown }).toJSON;
  if (typeof json !== "function") return value as Record<string, unknown>;
  const plain: unknown = json.call(value);
  return typeof plain === "object" && plain !== null ? (plain as Record<string, unknown>) : String(plain);
}

function asScalar(value: unknown): string | number | boolean | undefined {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return typeof value === "bigint" ? value.toString() : undefined;
}

function asScalarList(list: readonly unknown[]): AttributeValue | undefined {
  const type = typeof list[0];
  if (type !== "string" && type !== "number" && type !== "boolean") return undefined;
  return list.every((item) => typeof item === type) ? (list.slice() as AttributeValue) : undefined;
}
