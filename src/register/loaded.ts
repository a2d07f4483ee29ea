/**
 * What a hook of the module loader gives back for a module that has been loaded.
 *
 * @module
 */
import type { LoadFnOutput } from "node:module";
import { fileURLToPath } from "node:url";
import { extend, suffixOf } from "./extend.ts";

/** `loaded` with the module's source extended, where it is one of a known library. */
export function extendLoaded(url: string, loaded: LoadFnOutput): LoadFnOutput {
  const { source, format } = loaded;
  // A module of CommonJS without a source is read, and extended, by that loader.
  if (source == null || (format !== "module" && format !== "commonjs") || !url.startsWith("file:"))
    return loaded;
  try {
    const suffix = suffixOf(pathOf(url));
    if (suffix === undefined) return loaded;
    const text = typeof source === "string" ? source : new TextDecoder().decode(source);
    return { ...loaded, source: extend(text, suffix) };
  } catch {
    return loaded;
  }
}

/** The path with slashes. Most modules are in no known place, and need no decoding to know that. */
function pathOf(url: string): string {
  if (!url.includes("/node_modules/")) return "";
  return fileURLToPath(url).replaceAll("\\", "/");
}
