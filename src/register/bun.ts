/**
 * Hooks into the loading of modules in Bun.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import module from "node:module";
import { extended, findLibrary, slashed } from "./extend.ts";
import { fileNumber, LIBRARIES, type LibraryFile } from "./libraries.ts";
import type { Bindings, Receiver } from "./receiver.ts";

/** What of Bun's global is used. */
export interface BunPlugins {
  plugin(plugin: {
    name: string;
    setup(build: {
      onLoad(
        filter: { filter: RegExp },
        load: (file: { path: string }) => { contents: string; loader: string },
      ): void;
    }): void;
  }): void;
}

/**
 * Extends what `import` loads in Bun, which runs none of Node's hooks. It takes what a plugin gives for an ES module, so
 * of the others the exports are handed over when they are required.
 */
export function hookBun(bun: BunPlugins, receiver: Receiver): void {
  const files = LIBRARIES.flatMap(({ name, files }) =>
    files.map(({ esm }) => `${name}/(?:${esm.source.replace("^", "").replace("$", "")})`),
  );
  bun.plugin({
    name: "agentlightning",
    setup(build) {
      build.onLoad({ filter: new RegExp(`/node_modules/(?:${files.join("|")})$`) }, ({ path }) => ({
        contents: extended(readFileSync(path, "utf8"), slashed(path)),
        loader: "js",
      }));
    },
  });
  const prototype = module.prototype as unknown as { require: (this: unknown, id: string) => unknown };
  const { require: original } = prototype;
  prototype.require = function require(id) {
    const exports = original.call(this, id);
    handOver(id, this, exports, receiver);
    return exports;
  };
}

function handOver(id: string, from: unknown, exports: unknown, receiver: Receiver): void {
  try {
    const resolve = (module as unknown as { _resolveFilename(id: string, from: unknown): string })
      ._resolveFilename;
    const { library, folder, file } = findLibrary(slashed(resolve(id, from))) ?? {};
    if (library === undefined || file === undefined || taken.has(exports as object)) return;
    const { names, replaced } = library.files[fileNumber(library, file)] as LibraryFile;
    const all = exports as Bindings;
    const handed =
      names === undefined || replaced !== undefined
        ? all
        : Object.fromEntries(names.map((name) => [name, all[name]]));
    // Of two modules that require each other one is handed out before it is complete.
    if (names?.some((name) => all[name] === undefined)) return;
    taken.add(exports as object);
    receiver.library(library.name, String(folder), file, handed);
  } catch {
    // A built-in module, or something that the app finds by its own means.
  }
}

const taken = new WeakSet<object>();
