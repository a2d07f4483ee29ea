/**
 * What a hook of the module loader gives back for a module that has been loaded.
 *
 * @module
 */
import type { LoadFnOutput } from "node:module";
import { fileURLToPath } from "node:url";
import { concerns, extended, slashed } from "./extend.ts";

/** `loaded` with the module's source extended, where that is needed. */
export function extendLoaded(url: string, loaded: LoadFnOutput): LoadFnOutput {
  const { source } = loaded;
  // A module of CommonJS without a source is read, and extended, by that loader.
  if (source == null || !url.startsWith("file:")) return loaded;
  const path = slashed(fileURLToPath(url));
  if (!concerns(path, typeof source === "string" ? source.length : source.byteLength)) return loaded;
  const text = typeof source === "string" ? source : new TextDecoder().decode(source);
  return { ...loaded, source: extended(text, path) };
}
