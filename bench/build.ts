/**
 * Bundles the measured programs. They run as plain JavaScript, as users run the package: the loader that runs the
 * TypeScript sources directly names every closure when it is made, which costs more than what is measured here.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { build } from "tsup";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
// Inside the package, so that the bundles find its dependencies.
const OUT = `${ROOT}/node_modules/.cache/agentlightning-bench`;

/** Bundles `bench/<name>.ts` for each of `names`; gives the folder with `<name>.js` in it. */
export async function buildPrograms(names: readonly string[]): Promise<string> {
  await build({
    config: false,
    entry: Object.fromEntries(names.map((name) => [name, `${ROOT}/bench/${name}.ts`])),
    outDir: OUT,
    format: "esm",
    target: "node20",
    splitting: true,
    removeNodeProtocol: false,
    clean: true,
    silent: true,
    sourcemap: true,
  });
  return OUT;
}
