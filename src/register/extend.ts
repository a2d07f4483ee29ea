/**
 * Appends to a library's source what hands its names over when it has been evaluated. The lines of the source, and with
 * them source maps and stack traces, stay as they are.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { LIBRARIES, type Library } from "./libraries.ts";

const FOLDER = "/node_modules/";
const MARK = "/*agentlightning*/";

/** The folder of the package that `path` is in, its name and the path in it; undefined outside `node_modules`. */
function placeOf(path: string): { name: string; folder: string; file: string } | undefined {
  const at = path.lastIndexOf(FOLDER);
  if (at < 0) return undefined;
  const start = at + FOLDER.length;
  let end = path.indexOf("/", start);
  if (path[start] === "@") end = path.indexOf("/", end + 1);
  if (end < start) return undefined;
  return { name: path.slice(start, end), folder: path.slice(0, end + 1), file: path.slice(end + 1) };
}

const realNames = new Map<string, unknown>();

function realName(folder: string): unknown {
  if (!realNames.has(folder)) {
    let name: unknown;
    try {
      ({ name } = JSON.parse(readFileSync(`${folder}package.json`, "utf8")) as { name?: unknown });
    } catch {
      // No package of its own.
    }
    realNames.set(folder, name);
  }
  return realNames.get(folder);
}

const isCopyOf = (library: Library, name: string, folder: string): boolean =>
  name === library.name || (library.alias.test(name) && realName(folder) === library.name);

/** What is to be appended to the file at `path` (with slashes); undefined for files that stay as they are. */
export function suffixOf(path: string): string | undefined {
  const place = placeOf(path);
  if (place === undefined) return undefined;
  for (const library of LIBRARIES) {
    const file = library.files.find((candidate) => candidate.path.test(place.file));
    if (file === undefined || !isCopyOf(library, place.name, place.folder)) continue;
    // A name that the file does not have may be one that it exports from another; in neither case may asking throw.
    const names = file.names.map(
      (name) =>
        `get ${name}(){return typeof ${name}<"u"?${name}:typeof exports<"u"?exports.${name}:void 0},set ${name}(v){${name}=v}`,
    );
    const about = [library.name, place.folder, place.file].map((text) => JSON.stringify(text)).join();
    return `\n;${MARK}try{globalThis[Symbol.for("agentlightning.1")]?.register?.(${about},{${names.join()}})}catch{}`;
  }
  return undefined;
}

/** `source` with `suffix`, once: a source may pass through several hooks. */
export function extend(source: string, suffix: string): string {
  return source.includes(MARK, Math.max(0, source.length - suffix.length - 1)) ? source : source + suffix;
}
