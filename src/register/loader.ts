/**
 * Hooks of the module loader's own thread, for versions of Node without hooks in the app's thread.
 *
 * @module
 */
import type { LoadHook } from "node:module";
import { extendLoaded } from "./loaded.ts";

/** Loads a module as ever, and extends it where it belongs to a known library. */
export const load: LoadHook = async (url, context, nextLoad) =>
  extendLoaded(url, await nextLoad(url, context));
