/**
 * Listens to version 7 of the AI SDK without touching it: it asks every entry of a global list to run its model calls
 * and tools.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import { safeJson } from "../../internal/safe-json.ts";
import { GenAi } from "../../protocol/semconv.ts";
import { now, type Timestamp } from "../../trace/clock.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { withScope } from "../../trace/scope.ts";
import { isObject, type Loose, objectAt } from "../openai/shape.ts";
import { discretionOf } from "./discretion.ts";
import { callModel } from "./model-call.ts";
import { startTool } from "./tools.ts";

/** Name of the list, which version 6 has too; that calls other methods than the ones here. */
const LIST = "AI_SDK_TELEMETRY_INTEGRATIONS";

const integration = ownGlobal("ai-sdk-integration", createIntegration);

/** Puts our entry into the list, once; it does not matter whether `ai` is loaded before or after. */
export function listenToRegistry(): void {
  const globals = globalThis as unknown as Loose;
  const list = globals[LIST];
  if (!Array.isArray(list)) globals[LIST] = [integration];
  else if (!list.includes(integration)) list.push(integration);
}

interface OpenTool {
  span: OpenSpan;
  endTime: Timestamp | undefined;
}

type Executed = Loose & { execute: () => PromiseLike<unknown> };

function createIntegration() {
  const tools = new Map<string, OpenTool>();
  const keyOf = (event: Loose, toolCallId: unknown) => `${String(event["callId"])} ${String(toolCallId)}`;
  return {
    executeLanguageModelCall(event: Executed): unknown {
      const { execute, functionId, modelId } = event;
      const agent = typeof functionId === "string" ? functionId : undefined;
      const params = paramsOf(event);
      const discretion = discretionOf(event);
      return callModel({ kind: "language", params, modelId, tokenIds: "auto", agent, discretion }, execute);
    },

    async executeTool(event: Executed): Promise<unknown> {
      const { execute, functionId } = event;
      const call = objectAt(event, ["toolCall"]);
      const toolCallId = event["toolCallId"] ?? call?.["toolCallId"];
      const agent = typeof functionId === "string" ? functionId : undefined;
      const name = String(call?.["toolName"] ?? "tool");
      const input = discretionOf(event).inputs ? undefined : call?.["input"];
      const span = startTool(name, input, toolCallId, agent);
      if (span === undefined) return execute();
      const open: OpenTool = { span, endTime: undefined };
      const key = keyOf(event, toolCallId);
      tools.set(key, open);
      // What is never told of its end, since the run was stopped, ends with the rollout.
      span.onForcedEnd = () => {
        tools.delete(key);
        span.end(
          open.endTime === undefined ? { outcome: "incomplete" } : { outcome: "ok", endTime: open.endTime },
        );
      };
      try {
        const result = await withScope({ span, ...(agent === undefined ? {} : { agent }) }, execute);
        open.endTime = now();
        return result;
      } catch (error) {
        tools.delete(key);
        span.end({ outcome: "error", error });
        throw error;
      }
    },

    onToolExecutionEnd(event: Loose): void {
      const key = keyOf(event, objectAt(event, ["toolCall"])?.["toolCallId"]);
      const open = tools.get(key);
      if (open === undefined) return;
      tools.delete(key);
      const output = objectAt(event, ["toolOutput"]);
      if (output !== undefined && "output" in output && !discretionOf(event).outputs) {
        open.span.setAttribute(GenAi.ToolResult, safeJson(output["output"]));
      }
      open.span.end({ outcome: "ok", endTime: open.endTime ?? now() });
    },
  };
}

/** The event has the messages as the user gave them, in place of the model's prompt. */
function paramsOf(event: Loose): Loose {
  const { instructions, messages } = event;
  const prompt: unknown[] = Array.isArray(messages) ? [...messages] : [];
  if (typeof instructions === "string") prompt.unshift({ role: "system", content: instructions });
  else if (isObject(instructions)) prompt.unshift(...[instructions].flat());
  return { ...event, prompt };
}
