/**
 * Hooks into the loading of modules, by the means that the runtime has.
 *
 * @module
 */
import module from "node:module";
import { extend, suffixOf } from "./extend.ts";
import { extendLoaded } from "./loaded.ts";

type Compile = (this: unknown, content: unknown, filename: unknown, ...rest: unknown[]) => unknown;

/** Extends what `require` loads. */
export function hookCommonJs(): void {
  const prototype = module.prototype as unknown as { _compile: Compile };
  const original = prototype._compile;
  prototype._compile = function _compile(content, filename, ...rest) {
    return original.call(this, extended(content, filename), filename, ...rest);
  };
}

function extended(content: unknown, filename: unknown): unknown {
  if (typeof content !== "string" || typeof filename !== "string") return content;
  try {
    const suffix = suffixOf(filename.replaceAll("\\", "/"));
    return suffix === undefined ? content : extend(content, suffix);
  } catch {
    return content;
  }
}

type Sync = typeof module & {
  registerHooks?: (hooks: {
    load(
      url: string,
      context: module.LoadHookContext,
      next: (url: string, context: module.LoadHookContext) => module.LoadFnOutput,
    ): module.LoadFnOutput;
  }) => unknown;
};

/** Extends what `import` loads; `loader` is the URL of the module for versions of Node that hook in another thread. */
export function hookModules(loader: URL): void {
  const { registerHooks } = module as Sync;
  if (registerHooks === undefined) module.register(loader);
  else registerHooks({ load: (url, context, next) => extendLoaded(url, next(url, context)) });
}
