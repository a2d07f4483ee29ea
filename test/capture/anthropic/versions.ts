/**
 * The versions of Anthropic's SDK that capture is tested with, each as its ESM and as its CJS build.
 *
 * @module
 */
import { createRequire } from "node:module";
import type { AnyClient } from "../versions.ts";

/** A build of one version. */
export interface Build {
  name: string;
  major: number;
  load(): Promise<{ Anthropic: new (options: object) => AnyClient }>;
}

const require = createRequire(import.meta.url);

const PACKAGES: ReadonlyArray<readonly [name: string, major: number]> = [
  ["anthropic-v0", 0],
  ["@anthropic-ai/sdk", 1],
];

/** Builds of 0.137 and 1.14. */
export const BUILDS: readonly Build[] = PACKAGES.flatMap(([name, major]) => [
  { name: `${name} (esm)`, major, load: () => import(name) },
  { name: `${name} (cjs)`, major, load: async () => require(name) },
]);
