/**
 * The versions of openai that capture is tested with, each as its ESM and as its CJS build.
 *
 * @module
 */
import { createRequire } from "node:module";

/** A client of any version, known by what the tests call. */
// biome-ignore lint/suspicious/noExplicitAny: one scenario runs against five versions with different types.
export type AnyClient = any;

type Client = new (options: object) => AnyClient;

/** A build of one version. */
export interface Build {
  name: string;
  major: number;
  load(): Promise<{ OpenAI: Client; AzureOpenAI?: Client; BedrockOpenAI?: Client }>;
}

const require = createRequire(import.meta.url);

const PACKAGES: ReadonlyArray<readonly [name: string, major: number]> = [
  ["openai-v4", 4],
  ["openai-v5", 5],
  ["openai", 6],
  ["openai-v7", 7],
];

/** Builds of 4.104, 5.23, 6.49 and 7.59. */
export const BUILDS: readonly Build[] = PACKAGES.flatMap(([name, major]) => [
  { name: `${name} (esm)`, major, load: () => import(name) },
  { name: `${name} (cjs)`, major, load: async () => require(name) },
]);

/** The oldest version that is supported. */
export const OLDEST: Build = {
  name: "openai-v419 (cjs)",
  major: 4,
  load: async () => require("openai-v419"),
};

/** `parse`, `stream` and `runTools` of chat completions, which moved out of `beta` in openai 5. */
export function chatHelpers(client: AnyClient): AnyClient {
  return typeof client.chat.completions.stream === "function"
    ? client.chat.completions
    : client.beta.chat.completions;
}
