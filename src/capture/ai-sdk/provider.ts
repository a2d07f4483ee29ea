/**
 * A provider of the AI SDK whose models are instrumented. Providers are functions with properties; the one that the
 * user gets behaves as the original does.
 *
 * @module
 */
import type { Loose } from "../openai/shape.ts";
import { isModel } from "./kinds.ts";
import { instrumentModel, type ModelOptions } from "./model.ts";

const ours = new WeakSet<object>();

/** A provider like `provider`, which stays as it is. */
export function instrumentProvider(provider: Loose, options: ModelOptions = {}): Loose {
  if (ours.has(provider)) return provider;
  const made = new Map<unknown, unknown>();
  const seen = (value: unknown): unknown => {
    if (isModel(value)) instrumentModel(value, options);
    return value;
  };
  const wrapMethod = (method: object): unknown => {
    if (!made.has(method)) {
      made.set(
        method,
        new Proxy(method as () => unknown, {
          apply: (target, self, args) => seen(Reflect.apply(target, self === proxy ? provider : self, args)),
        }),
      );
    }
    return made.get(method);
  };
  const proxy: Loose = new Proxy(provider, {
    apply: (target, self, args) => seen(Reflect.apply(target as unknown as () => unknown, self, args)),
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      const own = Object.getOwnPropertyDescriptor(target, name);
      // A property that cannot change must be given as it is; classes and tools are no makers of models.
      if (typeof value !== "function" || own?.configurable === false || name === "constructor") return value;
      return wrapMethod(value);
    },
  });
  ours.add(proxy);
  return proxy;
}
