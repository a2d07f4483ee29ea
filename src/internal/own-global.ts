/**
 * State that the ESM and the CJS build of this package, and nested copies of it, must share.
 *
 * @module
 */

const KEY = Symbol.for("agentlightning.1");

/** The value named `name`, made on first use, one per process. */
export function ownGlobal<T>(name: string, create: () => T): T {
  const holder = globalThis as unknown as Record<symbol, Record<string, unknown> | undefined>;
  let values = holder[KEY];
  if (values === undefined) {
    values = Object.create(null) as Record<string, unknown>;
    Object.defineProperty(globalThis, KEY, { value: values, configurable: true });
  }
  if (!(name in values)) values[name] = create();
  return values[name] as T;
}
