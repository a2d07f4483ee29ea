/**
 * Instruments what the libraries hand over. Loaded with the first of them.
 *
 * @module
 */
import { instrumentExport } from "../capture/ai-sdk/module.ts";
import { instrument } from "../capture/instrument.ts";
import { instrumentOpenAIClass } from "../capture/openai/class.ts";
import { say as sayAt } from "../internal/say.ts";
import { adoptProcessRollout } from "../runtime/process-rollout.ts";
import type { Bindings } from "./receiver.ts";

type Install = (names: Bindings) => boolean;

const INSTALL: Readonly<Record<string, Install>> = {
  openai: ({ OpenAI }) => instrumentOpenAIClass(OpenAI),
  ai: replaceExports,
  "@langchain/core": (names) =>
    Object.values(names).every((part) => part !== undefined && instrument(part) === part),
};

/** Gives the module's own declarations another value, so that its calls of itself are covered too. */
function replaceExports(ai: Bindings): boolean {
  for (const name of Object.keys(ai)) {
    const value = ai[name];
    const instrumented = instrumentExport(name, value, { ai });
    if (instrumented !== value) ai[name] = instrumented;
  }
  return typeof ai["generateText"] === "function" && typeof ai["streamText"] === "function";
}

/** See `Capture`. */
export function install(library: string, names: Bindings): boolean {
  return INSTALL[library]?.(names) ?? false;
}

/** See `Capture`. */
export function say(kind: string, message: string): void {
  sayAt("warn", kind, message);
}

adoptProcessRollout();
