/**
 * Reads what a model of the Agents SDK gives: the server's own words where the model passes them on, else the SDK's.
 *
 * @module
 */
import { type Answer, append, choiceAt, toolCallAt } from "../openai/answer.ts";
import { readChatChunk, readChatCompletion } from "../openai/chat-answer.ts";
import { readResponse, readResponseEvent } from "../openai/responses-answer.ts";
import { isObject, type Loose, toJson } from "../openai/shape.ts";
import { textOf } from "./model-request.ts";

/** Reads a whole answer. */
export function readModelResponse(answer: Answer, response: unknown): void {
  if (!isObject(response)) return;
  const raw = isObject(response["providerData"]) ? response["providerData"] : {};
  if (Array.isArray(raw["choices"])) readChatCompletion(answer, raw);
  else if (Array.isArray(raw["output"])) readResponse(answer, raw);
  else readOutput(answer, response);
}

/** Reads an event of a stream that carries the server's own; false for every other. */
export function readRawEvent(answer: Answer, event: Loose): boolean {
  const raw = event["type"] === "model" ? event["event"] : undefined;
  if (!isObject(raw)) return false;
  if (Array.isArray(raw["choices"])) readChatChunk(answer, raw);
  else if (String(raw["type"]).startsWith("response.")) readResponseEvent(answer, raw);
  else return false;
  return true;
}

function readOutput(answer: Answer, { responseId, id = responseId, usage, output }: Loose): void {
  if (typeof id === "string") answer.id = id;
  if (isObject(usage)) {
    const [input, out, total] = [usage["inputTokens"], usage["outputTokens"], usage["totalTokens"]].map(
      (count) => (typeof count === "number" ? count : undefined),
    );
    answer.usage = { input, output: out, total, cached: undefined, reasoning: undefined };
  }
  if (!Array.isArray(output)) return;
  const choice = choiceAt(answer, 0);
  // What arrived piece by piece comes again.
  choice.content = undefined;
  for (const item of output) {
    if (!isObject(item)) continue;
    const { type, content, callId, name, arguments: args } = item;
    const text = textOf(content);
    if (type === "function_call") {
      const call = toolCallAt(choice, choice.toolCalls.size);
      call.id = typeof callId === "string" ? callId : undefined;
      call.name = String(name);
      call.arguments = typeof args === "string" ? args : (toJson(args) ?? "");
    } else if (type === "reasoning") choice.reasoning = append(choice.reasoning, text);
    else if (typeof text === "string") choice.content = append(choice.content, text);
  }
  choice.finishReason = choice.toolCalls.size > 0 ? "tool_calls" : "stop";
}

/** Takes out what is said in an answer. Token ids are its text in other letters. */
export function redact(answer: Answer): void {
  answer.promptTokenIds = undefined;
  for (const choice of answer.choices.values()) {
    choice.content = choice.reasoning = choice.refusal = undefined;
    choice.tokenIds = choice.logprobs = choice.refusalLogprobs = undefined;
    choice.toolCalls.clear();
  }
}
