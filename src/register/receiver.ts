/**
 * Takes what the libraries hand over, and has it instrumented. The code for that is loaded with the first library: most
 * processes that a variable of the environment reaches have none.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { fileNumber, LIBRARIES, OWN_NAME } from "./libraries.ts";

/** Names of a file's scope, which may be read and given another value. */
export type Bindings = Record<string, unknown>;

/** What the part that is loaded later has. */
export interface Capture {
  /** Instruments what a file of a library hands over; false when it cannot be. */
  install(library: string, names: Bindings): boolean;
  say(kind: string, message: string): void;
}

/** What extended files call. No method throws. */
export interface Receiver {
  /** At the end of a library's file. */
  library(name: string, folder: string, file: string, names: Bindings): void;
  /** At the end of a file of the app's that has `libraries` inside. */
  bundle(file: string, libraries: readonly string[]): void;
}

/** Milliseconds after which an app that runs on is told of its bundle. */
const BUNDLE_DELAY_MS = 5_000;

/** Makes the receiver; `load` gives the part that instruments. */
export function createReceiver(load: () => Capture): Receiver {
  const done = new Set<string>();
  let usesPackage = false;
  let told = false;
  return {
    library(name, folder, file, names) {
      const library = LIBRARIES.find((known) => known.name === name);
      if (name === OWN_NAME) usesPackage = true;
      if (library === undefined || name === OWN_NAME) return;
      // An index has nothing of its own where the file that it exports from has been seen.
      const key = `${folder} ${fileNumber(library, file)} ${file.slice(file.lastIndexOf("."))}`;
      const version = versionOf(folder);
      const tell = (what: string): void =>
        load().say(
          `register ${folder}`,
          `${name} ${version} in ${folder} ${what}; its calls are not recorded`,
        );
      try {
        if (Number.parseInt(version, 10) < library.since) tell(`is older than ${library.since}.0`);
        else if (load().install(name, names)) done.add(key);
        else if (!done.has(key)) tell(`has another ${file} than the known versions`);
      } catch (error) {
        tell(`could not be instrumented (${String(error)})`);
      }
    },
    bundle(file, libraries) {
      const tell = (): void => {
        // An app that uses the package may instrument what is in its bundle itself.
        if (told || usesPackage) return;
        told = true;
        load().say(
          "register bundle",
          `inside ${file} the calls of ${libraries.join(", ")} are not recorded: leave it out of the bundle, or call instrument() in the code (see docs/no-code-change.md)`,
        );
      };
      setTimeout(tell, BUNDLE_DELAY_MS).unref();
      process.once("exit", tell);
    },
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
