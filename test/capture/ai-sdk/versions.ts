/**
 * The versions of the AI SDK that capture is tested with, each with the provider of its time.
 *
 * @module
 */

// The SDK tells of settings that the test's models do not support, on every call.
(globalThis as Record<string, unknown>)["AI_SDK_LOG_WARNINGS"] = false;

/** The module `ai`, known by what the tests call. */
// biome-ignore lint/suspicious/noExplicitAny: one scenario runs against three versions with different types.
export type AnyModule = any;

/** A version. */
export interface Version {
  major: number;
  load(): Promise<{ ai: AnyModule; createProvider: (options: object) => AnyModule }>;
}

type Load = () => Promise<AnyModule>;

const PACKAGES: ReadonlyArray<readonly [major: number, ai: Load, provider: Load]> = [
  [5, () => import("ai-v5"), () => import("ai-compatible-v5")],
  [6, () => import("ai"), () => import("@ai-sdk/openai-compatible")],
  [7, () => import("ai-v7"), () => import("ai-compatible-v7")],
];

/** 5.0.277, 6.0.326 and 7.0.173. */
export const VERSIONS: readonly Version[] = PACKAGES.map(([major, ai, provider]) => ({
  major,
  load: async () => ({ ai: await ai(), createProvider: (await provider()).createOpenAICompatible }),
}));

/** Name of the class of agents that run tools in a loop. */
export const agentClass = (ai: AnyModule): AnyModule => ai.ToolLoopAgent ?? ai.Experimental_Agent;

/** Stops a loop of tools after `count` steps. */
export const steps = (ai: AnyModule, count: number): AnyModule => (ai.isStepCount ?? ai.stepCountIs)(count);
