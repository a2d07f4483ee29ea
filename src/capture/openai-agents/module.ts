/**
 * Instruments the OpenAI Agents SDK, given its module. Nothing of the SDK is imported.
 *
 * @module
 */
import { GenAi } from "../../protocol/semconv.ts";
import type { OpenAIOptions } from "../openai/settings.ts";
import { isObject, type Loose, objectAt } from "../openai/shape.ts";
import { patch } from "../patch.ts";
import { adopt, findClients } from "./client.ts";
import { patchModel } from "./model.ts";
import { dataOf, nodeOf, type Provider } from "./nodes.ts";
import { patchRunner, toolEnded, toolStarted } from "./runs.ts";
import { followSpans } from "./spans.ts";

/** True for the module `@openai/agents`, or `@openai/agents-core`. */
export function isAgentsModule(value: object): boolean {
  const { getGlobalTraceProvider, Runner, addTraceProcessor } = value as Loose;
  return [getGlobalTraceProvider, Runner, addTraceProcessor].every((part) => typeof part === "function");
}

/** Patches the module's classes, once; false when they refuse. */
export function instrumentAgents(agents: Loose, options: OpenAIOptions = {}): boolean {
  const provider = (agents["getGlobalTraceProvider"] as () => Provider)();
  const runner = (agents["Runner"] as { prototype: object }).prototype;
  const done =
    followSpans(provider) &&
    patchRunner(runner, (candidates) => {
      const { getDefaultOpenAIClient: client } = agents;
      if (typeof client === "function") adopt(client(), options);
      for (const candidate of candidates) patchModel(candidate, options);
    }) &&
    patch(runner, "emit", (original) => {
      return function (...args) {
        try {
          told(args, provider, options);
        } catch {
          // The listeners are told all the same.
        }
        return original.apply(this, args);
      };
    });
  for (const name of ["OpenAIProvider", "OpenAIChatCompletionsModel", "OpenAIResponsesModel"]) {
    patchModel((agents[name] as { prototype?: unknown } | undefined)?.prototype, options);
  }
  findClients(agents);
  return done;
}

/** What a runner tells its listeners: the agents that hand-offs lead to, and the ids of tool calls. */
function told([event, , agent, tool, ...rest]: unknown[], provider: Provider, options: OpenAIOptions): void {
  if (event === "agent_start" && isObject(agent)) patchModel(agent["model"], options);
  const call = objectAt(rest.at(-1), ["toolCall"]);
  if (call === undefined) return;
  const span = provider.getCurrentSpan();
  const own = dataOf(span)?.["type"] === "function";
  if (event === "agent_tool_end" && !own) toolEnded(rest[0], call);
  if (event !== "agent_tool_start") return;
  if (!own) toolStarted(objectAt(tool, [])?.["name"], call);
  else if (typeof call["callId"] === "string") {
    nodeOf(span)?.span?.setAttribute(GenAi.ToolCallId, call["callId"]);
  }
}
