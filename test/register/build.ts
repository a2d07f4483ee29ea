/**
 * Builds the register as it is shipped, from the sources.
 *
 * @module
 */
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "tsup";
import { register } from "../../tsup.config.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** Builds into a folder from which the package's dependencies are found; gives the path of `register.js` in it. */
export async function buildRegister(name: string): Promise<string> {
  const outDir = join(ROOT, "node_modules/.cache", `agentlightning-${name}`);
  for (const { entry, ...options } of register) {
    const files = Object.entries(entry as Record<string, string>);
    await build({
      ...options,
      config: false,
      entry: Object.fromEntries(files.map(([to, from]) => [to, join(ROOT, from)])),
      outDir,
      dts: false,
      silent: true,
    });
  }
  await writeFile(join(outDir, "package.json"), JSON.stringify({ type: "module" }));
  return join(outDir, "register.js");
}
