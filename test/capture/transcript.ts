/**
 * What a caller can see, as plain data: two runs were the same when their transcripts are equal.
 *
 * @module
 */

/** Collects observations in order. */
export interface Transcript {
  readonly entries: unknown[];
  /** Notes a value, described at once: later changes of it do not show. */
  note(what: string, value?: unknown): void;
}

/** An empty transcript. */
export function createTranscript(): Transcript {
  const entries: unknown[] = [];
  return { entries, note: (what, value) => void entries.push([what, describe(value)]) };
}

/** Describes anything: its class, its own properties (`_request_id` among them), an error's cause. */
export function describe(value: unknown, depth = 8): unknown {
  if (typeof value === "function") return `function ${value.name}/${value.length}`;
  if (typeof value === "bigint" || typeof value === "symbol") return String(value);
  if (typeof value !== "object" || value === null) return value;
  const name = Object.getPrototypeOf(value)?.constructor?.name ?? "null";
  if (depth === 0) return name;
  if (value instanceof Error) return describeError(value, name, depth);
  // Clients hang on runners and promises; what they hold is not part of a result.
  if (/OpenAI|Anthropic|Client|Headers|Agent|Signal|Response$|Socket|Stream$/.test(name)) return `[${name}]`;
  if (Array.isArray(value)) return value.map((item) => describe(item, depth - 1));
  const own: Record<string, unknown> = name === "Object" ? {} : { "~class": name };
  for (const key of Object.getOwnPropertyNames(value)) {
    own[key] = describe((value as Record<string, unknown>)[key], depth - 1);
  }
  return own;
}

function describeError(error: Error, name: string, depth: number): unknown {
  const { message, status, code, param, type, cause, request_id, requestID } = error as Error &
    Record<string, unknown>;
  const said = {
    "~error": name,
    name: error.name,
    message,
    status,
    code,
    param,
    type,
    request_id,
    requestID,
  };
  return cause === undefined ? said : { ...said, cause: describe(cause, depth - 1) };
}

/** What code can tell of a promise or stream without using it. */
export function surface(value: object): unknown {
  const prototypes: string[] = [];
  for (let at = Object.getPrototypeOf(value); at !== null; at = Object.getPrototypeOf(at)) {
    prototypes.push(`${at.constructor?.name}: ${Reflect.ownKeys(at).map(String).sort().join()}`);
  }
  // Node marks promises with symbols of its own while anything uses AsyncLocalStorage.
  const keys = Reflect.ownKeys(value).filter(
    (key) => typeof key === "string" || key === Symbol.asyncIterator,
  );
  const own = keys.map((key) => {
    const descriptor = Object.getOwnPropertyDescriptor(value, key)!;
    return `${String(key)} ${typeof descriptor.value} ${descriptor.enumerable} ${descriptor.writable}`;
  });
  return { own, prototypes, tag: Object.prototype.toString.call(value) };
}
