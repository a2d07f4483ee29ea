/**
 * Knows a library inside a bundle of the app, where it cannot be recorded without a change of code.
 *
 * @module
 */

/** Texts that a minifier leaves alone, all of which a library has. */
const SIGNS: Readonly<Record<string, readonly string[]>> = {
  openai: ["X-Stainless-Package-Version", "OPENAI_BASE_URL"],
  "@anthropic-ai/sdk": ["X-Stainless-Package-Version", "anthropic-version"],
  // Of the versions that tell of their calls only when asked; the later ones are recorded in a bundle too.
  ai: ["vercel.ai.error", "ai.telemetry.functionId"],
  "@langchain/core": ["LANGCHAIN_CALLBACKS_BACKGROUND", "lc_serializable"],
};

/** No bundle of a library is shorter; what is shorter may be a file that speaks of one. */
export const BUNDLE_LENGTH = 50_000;

/** Names of the libraries that are inside `source`, a file of the app's; none where this package is inside too. */
export function bundledIn(source: string): string[] {
  if (source.length < BUNDLE_LENGTH || source.includes("agentlightning")) return [];
  return Object.keys(SIGNS).filter((name) => SIGNS[name]?.every((sign) => source.includes(sign)));
}
