/**
 * The Python environment of the conformance tests, if it has been made.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const HOME = fileURLToPath(new URL("../../.conformance", import.meta.url));

/** Path of a Python that has the package `agentlightning` 0.3; undefined when there is none. */
export async function findPython(): Promise<string | undefined> {
  const given = process.env["AGL_CONFORMANCE_VENV"];
  if (given) return join(given, "bin", "python");
  for (const name of await readdir(HOME).catch(() => [])) {
    if (existsSync(join(HOME, name, "complete"))) return join(HOME, name, "bin", "python");
  }
  return undefined;
}
