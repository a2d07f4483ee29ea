/**
 * Takes what the libraries hand over, and has it instrumented. The code for that is loaded with the first library: most
 * processes that a variable of the environment reaches have none.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { LIBRARIES } from "./libraries.ts";

/** Names of a file's scope, which may be read and given another value. */
export type Bindings = Record<string, unknown>;

/** What the part that is loaded later has. */
export interface Capture {
  /** Instruments what a file of a library hands over; false when it cannot be. */
  install(library: string, names: Bindings): boolean;
  say(kind: string, message: string): void;
}

/** Called at the end of a library's file. Never throws. */
export type Receiver = (library: string, folder: string, file: string, names: Bindings) => void;

/** Makes the receiver; `load` gives the part that instruments. */
export function createReceiver(load: () => Capture): Receiver {
  const done = new Set<string>();
  return (name, folder, file, names) => {
    const library = LIBRARIES.find((known) => known.name === name);
    // An index has nothing of its own where the file that it exports from has been seen.
    const part = library?.files.findIndex(({ path }) => path.test(file));
    const key = `${folder} ${part} ${file.slice(file.lastIndexOf("."))}`;
    const version = versionOf(folder);
    const tell = (what: string): void =>
      load().say(`register ${folder}`, `${name} ${version} in ${folder} ${what}; its calls are not recorded`);
    try {
      const { since = 0 } = library ?? {};
      if (Number.parseInt(version, 10) < since) tell(`is older than ${since}.0`);
      else if (load().install(name, names)) done.add(key);
      else if (!done.has(key)) tell(`has another ${file} than the known versions`);
    } catch (error) {
      tell(`could not be instrumented (${String(error)})`);
    }
  };
}

function versionOf(folder: string): string {
  try {
    const { version } = JSON.parse(readFileSync(`${folder}package.json`, "utf8")) as { version?: unknown };
    return String(version);
  } catch {
    return "(no version)";
  }
}
