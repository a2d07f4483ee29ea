/**
 * Appends to a library's source what hands its names over when it has been evaluated. The lines of the source, and with
 * them source maps and stack traces, stay as they are.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { BUNDLE_LENGTH, bundledIn } from "./bundle.ts";
import { fileNumber, LIBRARIES, type Library, type LibraryFile } from "./libraries.ts";
import type { Receiver } from "./receiver.ts";

const FOLDER = "/node_modules/";
const MARK = "/*agentlightning*/";

/** A path of the system's as this package writes it. */
export const slashed = (path: string): string => path.replaceAll("\\", "/");

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

/** A file of a known library. */
export interface Found {
  readonly library: Library;
  /** The package's folder, with a slash at its end. */
  readonly folder: string;
  /** Path in the folder. */
  readonly file: string;
}

/** The library of whose files the one at `path` is one that is handed over. */
export function findLibrary(path: string): Found | undefined {
  const place = placeOf(path);
  if (place === undefined) return undefined;
  const { name, folder, file } = place;
  const library = LIBRARIES.find((known) => fileNumber(known, file) >= 0 && isCopyOf(known, name, folder));
  return library && { library, folder, file };
}

/** What is to be appended to a file of a library. */
function handing({ library, folder, file }: Found): string {
  const { esm, names, replaced = [] } = library.files[fileNumber(library, file)] as LibraryFile;
  if (names !== undefined) {
    const accessors = [...names.map(getter), ...replaced.map((name) => `${getter(name)},${setter(name)}`)];
    return call("library", [library.name, folder, file], `{${accessors.join()}}`);
  }
  if (!esm.test(file)) return call("library", [library.name, folder, file], "module.exports");
  const self = JSON.stringify(`./${file.slice(file.lastIndexOf("/") + 1)}`);
  return `import*as agentlightning$ from${self};${call("library", [library.name, folder, file], "agentlightning$")}`;
}

/** A name that the file does not have may be one that it exports from another; in neither case may asking throw. */
const getter = (name: string): string =>
  `get ${name}(){return typeof ${name}<"u"?${name}:typeof exports<"u"?exports.${name}:void 0}`;
const setter = (name: string): string => `set ${name}(v){${name}=v}`;

const call = (method: keyof Receiver, texts: readonly string[], last: string): string =>
  `${MARK}try{globalThis[Symbol.for("agentlightning.1")]?.register?.${method}(${texts.map((text) => JSON.stringify(text)).join()},${last})}catch{}`;

function suffixOf(source: string, path: string): string | undefined {
  const found = findLibrary(path);
  if (found !== undefined) return handing(found);
  const bundled = path.includes(FOLDER) ? [] : bundledIn(source);
  return bundled.length > 0 ? call("bundle", [path], JSON.stringify(bundled)) : undefined;
}

/** True for files that {@link extended} looks at; `length` is the source's. */
export const concerns = (path: string, length: number): boolean =>
  path.includes(FOLDER) ? findLibrary(path) !== undefined : length >= BUNDLE_LENGTH;

/** The source of the file at `path`, extended once, since it may pass through several hooks. Never throws. */
export function extended(source: string, path: string): string {
  try {
    const suffix = suffixOf(source, path);
    if (suffix === undefined || source.includes(MARK, source.length - suffix.length)) return source;
    return `${source}\n;${suffix}`;
  } catch {
    return source;
  }
}
