/**
 * Listens to version 7 of the AI SDK without touching it: by its global list, whose entries are asked to run its model
 * calls and tools, and by its tracing channel, which tells of whole operations too, and of calls that have a list of
 * their own.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import { withScope } from "../../trace/scope.ts";
import type { Loose } from "../openai/shape.ts";
import { createAnnouncedCalls } from "./announced-calls.ts";
import { listenToChannel } from "./channel.ts";
import { callModel, followModelCall } from "./model-call.ts";
import { claimModelCall, modelCallOf, openTool, toolOf } from "./telemetry-event.ts";
import { isRunning } from "./tools.ts";

/** Name of the list, which version 6 has too; that calls other methods than the ones here. */
const LIST = "AI_SDK_TELEMETRY_INTEGRATIONS";

const integration = ownGlobal("ai-sdk-integration", createIntegration);

/** Puts our entry into the list, once; it does not matter whether `ai` is loaded before or after. */
export function listenToRegistry(): void {
  const globals = globalThis as unknown as Loose;
  const list = globals[LIST];
  if (!Array.isArray(list)) globals[LIST] = [integration];
  else if (!list.includes(integration)) list.push(integration);
  listenToChannel();
}

type Executed = Loose & { execute: () => PromiseLike<unknown> };

function createIntegration() {
  return {
    ...createAnnouncedCalls(),

    executeLanguageModelCall(event: Executed): unknown {
      const { execute } = event;
      const call = claimModelCall();
      return call === undefined ? callModel(modelCallOf(event), execute) : followModelCall(call, execute);
    },

    async executeTool(event: Executed): Promise<unknown> {
      const { execute } = event;
      if (isRunning(event["toolCallId"])) return execute();
      const tool = openTool(event);
      if (tool === undefined) return execute();
      try {
        return await withScope(tool.scope, execute);
      } catch (error) {
        tool.failed(error);
        throw error;
      }
    },

    onToolExecutionEnd(event: Loose): void {
      toolOf(event)?.ended(event["toolOutput"]);
    },
  };
}
