/**
 * Other packages that record an OpenAI client's calls whole, to compare with. They are installed into a folder outside
 * of this package when the benchmark runs, and are no dependency of it.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** What the wrappers need, at fixed versions. */
const DEPENDENCIES = {
  openai: "6.49.0",
  "@arizeai/openinference-instrumentation-openai": "4.2.7",
  "@opentelemetry/api": "1.9.1",
  "@opentelemetry/context-async-hooks": "2.12.1",
  "@opentelemetry/otlp-transformer": "0.223.1",
  "@opentelemetry/sdk-trace-base": "2.12.1",
  "@traceloop/instrumentation-openai": "0.27.0",
};

/** Loads a module as a file of the wrappers' folder would. */
export type Load = <T>(name: string) => Promise<T>;

/**
 * Installs the wrappers unless they are there already, and gives the file whose `load` imports them; undefined, with a
 * note, where they cannot be installed.
 */
export async function installWrappers(note: (text: string) => void): Promise<string | undefined> {
  const folder = join(tmpdir(), "agentlightning-bench-wrappers");
  const loader = join(folder, "load.mjs");
  const manifest = JSON.stringify({ private: true, dependencies: DEPENDENCIES });
  const done = join(folder, "installed.json");
  if ((await readFile(done, "utf8").catch(() => "")) === manifest) return loader;
  note("installing the packages to compare with");
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), manifest);
    await writeFile(loader, "export const load = (name) => import(name);\n");
    const flags = ["--no-audit", "--no-fund", "--legacy-peer-deps", "--ignore-scripts"];
    await promisify(execFile)("npm", ["install", ...flags], { cwd: folder });
    await writeFile(done, manifest);
    return loader;
  } catch (error) {
    note(`not compared with other packages, they cannot be installed: ${String(error).split("\n")[0]}`);
    return undefined;
  }
}
