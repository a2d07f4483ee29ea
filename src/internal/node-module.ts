/**
 * Modules of Node without importing them: the main entry must load in browsers and on the edge.
 *
 * @module
 */

interface Globals {
  process?: { getBuiltinModule?: (id: string) => unknown };
}

/** The module `id` (with `node:`); undefined where there is none. */
export function nodeModule<T>(id: string): T | undefined {
  try {
    return (globalThis as Globals).process?.getBuiltinModule?.(id) as T | undefined;
  } catch {
    // Next's edge runtime has the function, and throws when it is called.
    return undefined;
  }
}
