/**
 * Hooks into the loading of modules, by the means that the runtime has.
 *
 * @module
 */
import module from "node:module";
import { type BunPlugins, hookBun } from "./bun.ts";
import { extended, slashed } from "./extend.ts";
import { extendLoaded } from "./loaded.ts";
import type { Receiver } from "./receiver.ts";

type Compile = (this: unknown, content: unknown, filename: unknown, ...rest: unknown[]) => unknown;

/** Extends what `require` loads, where the hooks of the app's thread do not. */
function hookCommonJs(): void {
  const prototype = module.prototype as unknown as { _compile: Compile };
  const original = prototype._compile;
  prototype._compile = function _compile(content, filename, ...rest) {
    const text = typeof content === "string" ? extended(content, slashed(String(filename))) : content;
    return original.call(this, text, filename, ...rest);
  };
}

interface SyncHooks {
  registerHooks(hooks: { load: SyncLoad }): unknown;
}
type SyncLoad = (url: string, context: module.LoadHookContext, next: NextLoad) => module.LoadFnOutput;
type NextLoad = (url: string, context: module.LoadHookContext) => module.LoadFnOutput;

/**
 * First versions of Node, a line each, whose hooks in the app's thread leave `require` of ES modules working; later
 * lines all do.
 */
const SYNC_SINCE: readonly (readonly number[])[] = [
  [22, 22, 3],
  [24, 11, 1],
  [25, 1, 0],
];

/** True where modules are hooked in the app's own thread, for a version such as `22.23.3`. */
export function hooksInThread(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major > 25) return true;
  const since = SYNC_SINCE.find((line) => line[0] === major);
  const [, sinceMinor = 0, sincePatch = 0] = since ?? [];
  return since !== undefined && (minor > sinceMinor || (minor === sinceMinor && patch >= sincePatch));
}

/** Extends what the app loads; `loader` is the URL of the module for versions of Node that hook in another thread. */
export function hookModules(loader: URL, receiver: Receiver): void {
  const { Bun } = globalThis as { Bun?: BunPlugins };
  if (Bun !== undefined) {
    hookBun(Bun, receiver);
    return;
  }
  if (hooksInThread(process.versions.node) && "registerHooks" in module) {
    (module as unknown as SyncHooks).registerHooks({
      load: (url, context, next) => extendLoaded(url, next(url, context)),
    });
    return;
  }
  hookCommonJs();
  module.register(loader);
}
