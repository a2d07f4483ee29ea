/**
 * JSON of any value, for recording: never throws.
 *
 * @module
 */

/** `value` as JSON; what JSON cannot carry (cycles, BigInt, throwing getters) is replaced by a note in its place. */
export function safeJson(value: unknown): string {
  try {
    // undefined and functions have no JSON: null stands for "nothing came back".
    return JSON.stringify(value) ?? "null";
  } catch {
    try {
      return JSON.stringify(value, tolerant()) ?? "null";
    } catch (error) {
      return JSON.stringify(`(not recordable: ${error instanceof Error ? error.message : "unknown"})`);
    }
  }
}

function tolerant(): (this: unknown, key: string, value: unknown) => unknown {
  const path: unknown[] = [];
  return function (_key, value) {
    if (typeof value === "bigint") return value.toString();
    if (typeof value !== "object" || value === null) return value;
    // `this` is the object that holds the value: what lies after it on the path has been left.
    while (path.length > 0 && path[path.length - 1] !== this) path.pop();
    if (path.includes(value)) return "(circular)";
    path.push(value);
    return value;
  };
}
