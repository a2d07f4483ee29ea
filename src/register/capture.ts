/**
 * Instruments what the libraries hand over. Loaded with the first of them.
 *
 * @module
 */
import { hasProperties } from "../capture/ai-sdk/kinds.ts";
import { instrumentExport } from "../capture/ai-sdk/module.ts";
import { MESSAGES } from "../capture/anthropic/client.ts";
import { instrumentLangChain, isLangChain } from "../capture/langchain/install.ts";
import { instrumentMcp, isMcpClient } from "../capture/mcp/client.ts";
import { instrumentClientClass } from "../capture/openai/class.ts";
import { instrumentAgents, isAgentsModule } from "../capture/openai-agents/module.ts";
import { hide } from "../internal/hide.ts";
import { say as sayAt } from "../internal/say.ts";
import { adoptProcessRollout } from "../runtime/process-rollout.ts";
import type { Bindings } from "./receiver.ts";

type Install = (names: Bindings) => boolean;

const INSTALL: Readonly<Record<string, Install>> = {
  openai: ({ OpenAI }) => instrumentClientClass(OpenAI),
  "@anthropic-ai/sdk": ({ Anthropic }) => instrumentClientClass(Anthropic, MESSAGES),
  ai: replaceExports,
  "@langchain/core": (names) => Object.values(names).every((part) => instrumentPart(part)),
  "@modelcontextprotocol/sdk": mcpClient,
  "@modelcontextprotocol/client": mcpClient,
  "@openai/agents": agentsModule,
  "@openai/agents-core": agentsModule,
};

function instrumentPart(part: unknown): boolean {
  return hasProperties(part) && isLangChain(part) && instrumentLangChain(part);
}

function mcpClient({ Client }: Bindings): boolean {
  return hasProperties(Client) && isMcpClient(Client) && instrumentMcp(Client);
}

function agentsModule(agents: Bindings): boolean {
  return isAgentsModule(agents) && instrumentAgents(agents);
}

/** Gives the module's own declarations another value, so that its calls of itself are covered too. */
function replaceExports(ai: Bindings): boolean {
  for (const name of Object.keys(ai)) {
    const value = ai[name];
    const instrumented = instrumentExport(name, value, { ai });
    if (instrumented === value) continue;
    ai[name] = instrumented;
    // An agent's `constructor` is the class that the app sees.
    const prototype = (value as { prototype?: object }).prototype;
    if (prototype !== undefined && Object.hasOwn(prototype, "constructor"))
      hide(prototype, "constructor", instrumented);
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
