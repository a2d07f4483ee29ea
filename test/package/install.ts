/**
 * Packs this package once and installs the tarball into empty apps, as a user would.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../..");

/** A folder of its own, the tarball in it. */
export interface Packed {
  folder: string;
  tarball: string;
  /** Paths in the tarball. */
  files: string[];
  remove(): Promise<void>;
}

/** Builds and packs. */
export async function pack(): Promise<Packed> {
  const folder = await mkdtemp(join(tmpdir(), "agl-package-"));
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: ROOT,
    maxBuffer: 1 << 26,
  });
  // The build's own output comes before the JSON.
  const [info] = JSON.parse(stdout.slice(stdout.search(/^\[\s*$/m))) as [
    { filename: string; files: Array<{ path: string }> },
  ];
  return {
    folder,
    tarball: join(folder, info.filename),
    files: info.files.map(({ path }) => path),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** An app with the package installed. */
export interface App {
  folder: string;
  /** Runs a command in the app; gives back its standard output. Rejects with its output when it fails. */
  run(command: string, args: string[], env?: Record<string, string>): Promise<string>;
  write(name: string, text: string): Promise<void>;
}

/** Makes an app and installs the tarball and `dependencies` into it. */
export async function makeApp(
  packed: Packed,
  name: string,
  type: "module" | "commonjs",
  dependencies: Record<string, string> = {},
): Promise<App> {
  const folder = join(packed.folder, name);
  await mkdir(folder);
  const app: App = {
    folder,
    async run(command, args, env = {}) {
      const { stdout } = await run(command, args, {
        cwd: folder,
        env: { ...process.env, ...env },
        maxBuffer: 1 << 26,
      }).catch((error: Error & { stdout?: string; stderr?: string }) => {
        throw new Error(`${command} ${args.join(" ")} failed:\n${error.stdout}\n${error.stderr}`);
      });
      return stdout;
    },
    write: (file, text) => writeFile(join(folder, file), text),
  };
  await app.write(
    "package.json",
    JSON.stringify({
      name: `app-${name}`,
      private: true,
      type,
      dependencies: { agentlightning: `file:${packed.tarball}`, ...dependencies },
    }),
  );
  await app.run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"]);
  return app;
}
