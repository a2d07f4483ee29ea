/**
 * Model calls and tools as version 7's telemetry tells of them.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import { safeJson } from "../../internal/safe-json.ts";
import { GenAi } from "../../protocol/semconv.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { currentScope, type Scope } from "../../trace/scope.ts";
import { isObject, type Loose, objectAt } from "../openai/shape.ts";
import { isOwnCall } from "./agents.ts";
import { discretionOf } from "./discretion.ts";
import { type ModelCallStart, type OpenModelCall, openModelCall } from "./model-call.ts";
import { startTool } from "./tools.ts";

/** A model call with what the event says. */
export function modelCallOf(event: Loose): ModelCallStart {
  const { modelId, provider } = event;
  const discretion = discretionOf(event);
  const agent = agentOf(event);
  return {
    kind: "language",
    params: paramsOf(event),
    modelId,
    provider,
    tokenIds: "auto",
    agent,
    discretion,
  };
}

/** Function ids name agents, where the code does not run as the one that is meant already. */
function agentOf({ functionId }: Loose): string | undefined {
  return typeof functionId === "string" && !isOwnCall(functionId) ? functionId : undefined;
}

/** The event has the messages as the user gave them, in place of the model's prompt. */
function paramsOf(event: Loose): Loose {
  const { instructions, messages } = event;
  const prompt: unknown[] = Array.isArray(messages) ? [...messages] : [];
  if (typeof instructions === "string") prompt.unshift({ role: "system", content: instructions });
  else if (isObject(instructions)) prompt.unshift(...[instructions].flat());
  return { ...event, prompt };
}

const unclaimed = ownGlobal("ai-sdk-calls", () => new WeakMap<OpenSpan, OpenModelCall>());

/** Starts the record of a model call, which runs in its scope; whoever is there first may claim to follow it. */
export function announceModelCall(event: Loose): OpenModelCall | undefined {
  const call = openModelCall(modelCallOf(event));
  if (call !== undefined) unclaimed.set(call.span, call);
  return call;
}

/** The record of the model call that the code runs for, to be followed by who claims it; once. */
export function claimModelCall(span = currentScope()?.span): OpenModelCall | undefined {
  const call = span && unclaimed.get(span);
  if (call !== undefined) unclaimed.delete(call.span);
  return call;
}

/** An execution of a tool that is being recorded. */
export interface OpenTool {
  /** Changes of the scope in which it must run. */
  readonly scope: Partial<Scope>;
  /** Takes its result or error as the SDK has it; undefined for an end of which nothing is told. */
  ended(output: unknown): void;
  failed(error: unknown): void;
}

const tools = ownGlobal("ai-sdk-open-tools", () => new Map<string, OpenTool>());

const callIdOf = (event: Loose): unknown =>
  event["toolCallId"] ?? objectAt(event, ["toolCall"])?.["toolCallId"];
const keyOf = (event: Loose): string => `${String(event["callId"])} ${String(callIdOf(event))}`;

/** The open record of the execution that the event tells of. */
export function toolOf(event: Loose): OpenTool | undefined {
  return tools.get(keyOf(event));
}

/** Starts the record of a tool's execution; undefined when there is none to make. */
export function openTool(event: Loose): OpenTool | undefined {
  const key = keyOf(event);
  const discretion = discretionOf(event);
  const { toolName, input } = objectAt(event, ["toolCall"]) ?? {};
  const agent = agentOf(event);
  const given = discretion.inputs ? undefined : input;
  const span = startTool(String(toolName ?? "tool"), given, callIdOf(event), agent);
  if (span === undefined) return undefined;
  const end = (finish: () => void): void => {
    tools.delete(key);
    finish();
  };
  span.onForcedEnd = () => end(() => span.end({ outcome: "incomplete" }));
  const failed = (error: unknown): void => end(() => span.end({ outcome: "error", error }));
  const tool: OpenTool = {
    scope: { span, ...(agent && { agent }) },
    failed,
    ended(output) {
      const { type, error, output: result } = isObject(output) ? output : {};
      const fails = type === "tool-error";
      if (result !== undefined && !discretion.outputs) span.setAttribute(GenAi.ToolResult, safeJson(result));
      end(() => span.end(fails ? { outcome: "error", error } : undefined));
    },
  };
  tools.set(key, tool);
  return tool;
}
