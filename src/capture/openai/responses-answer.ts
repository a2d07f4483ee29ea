/**
 * Reads answers of the responses endpoint, whole and event by event. The output items are one choice.
 *
 * @module
 */
import {
  type Answer,
  append,
  appendEntries,
  appendIds,
  type Choice,
  choiceAt,
  readHead,
  toolCallAt,
} from "./answer.ts";
import { isObject, type Loose, toJson } from "./shape.ts";

/** Reads a `response` object; what earlier events said of its output is replaced. */
export function readResponse(answer: Answer, value: Loose): void {
  readHead(answer, value);
  answer.promptTokenIds = appendIds(undefined, value["prompt_token_ids"]) ?? answer.promptTokenIds;
  const { output, status, incomplete_details: details, error } = value;
  if (Array.isArray(output) && output.length > 0) {
    answer.choices.clear();
    const choice = choiceAt(answer, 0);
    choice.role = "assistant";
    for (let i = 0; i < output.length; i++) if (isObject(output[i])) readItem(choice, output[i], i);
  }
  if (status === "completed" || status === "incomplete" || status === "failed" || status === "cancelled") {
    const choice = choiceAt(answer, 0);
    const reason = isObject(details) ? details["reason"] : undefined;
    choice.role ??= "assistant";
    choice.finishReason = finishReason(choice, status, reason);
    choice.tokenIds ??= appendIds(undefined, value["response_token_ids"] ?? value["token_ids"]);
  }
  if (isObject(error)) readFailure(answer, error);
}

/** Reads one event of a response's stream. */
export function readResponseEvent(answer: Answer, event: Loose): void {
  const { type, output_index: at, delta, item, response } = event;
  if (typeof type !== "string") return;
  if (isObject(response)) {
    readResponse(answer, response);
    return;
  }
  if (type === "error") {
    readFailure(answer, isObject(event["error"]) ? event["error"] : event);
    return;
  }
  const choice = choiceAt(answer, 0);
  choice.role ??= "assistant";
  const index = typeof at === "number" ? at : 0;
  switch (type) {
    case "response.output_text.delta":
      choice.content = append(choice.content, delta);
      choice.logprobs = appendEntries(choice.logprobs, nonEmpty(event["logprobs"]));
      break;
    case "response.refusal.delta":
      choice.refusal = append(choice.refusal, delta);
      break;
    case "response.reasoning_text.delta":
    case "response.reasoning_summary_text.delta":
      choice.reasoning = append(choice.reasoning, delta);
      break;
    case "response.function_call_arguments.delta":
    case "response.custom_tool_call_input.delta":
      if (typeof delta === "string") toolCallAt(choice, index).arguments += delta;
      break;
    case "response.output_item.added":
      if (isObject(item)) readCall(choice, item, index);
      break;
  }
}

function readItem(choice: Choice, item: Loose, index: number): void {
  const { type, content, summary } = item;
  if (type === "message" && Array.isArray(content)) {
    for (const part of content) if (isObject(part)) readPart(choice, part);
  } else if (type === "reasoning") {
    for (const list of [summary, content]) {
      if (!Array.isArray(list)) continue;
      for (const part of list) if (isObject(part)) choice.reasoning = append(choice.reasoning, part["text"]);
    }
  } else {
    readCall(choice, item, index);
  }
}

function readPart(choice: Choice, part: Loose): void {
  if (part["type"] === "refusal") {
    choice.refusal = append(choice.refusal, part["refusal"]);
    return;
  }
  choice.content = append(choice.content, part["text"]);
  choice.logprobs = appendEntries(choice.logprobs, nonEmpty(part["logprobs"]));
}

/** Calls of the user's functions, and of tools that run on the server (`web_search_call` and the like). */
function readCall(choice: Choice, item: Loose, index: number): void {
  const { type, id, call_id: callId, name, arguments: args, input } = item;
  if (typeof type !== "string" || !type.endsWith("_call")) return;
  const call = toolCallAt(choice, index);
  if (typeof callId === "string") call.id = callId;
  else if (typeof id === "string") call.id = id;
  call.type = type === "function_call" ? "function" : type;
  call.name = typeof name === "string" ? name : type;
  if (typeof args === "string") call.arguments = args;
  else if (typeof input === "string") call.arguments = input;
  else if (type !== "function_call") call.arguments = toJson(item["action"]) ?? "";
}

/** In the words of chat completions, which is what readers know. */
function finishReason(choice: Choice, status: string, reason: unknown): string {
  if (status === "completed") return choice.toolCalls.size > 0 ? "tool_calls" : "stop";
  if (status === "incomplete") {
    return reason === "max_output_tokens" ? "length" : typeof reason === "string" ? reason : status;
  }
  return status;
}

function readFailure(answer: Answer, error: Loose): void {
  answer.failure = {
    code: typeof error["code"] === "string" ? error["code"] : undefined,
    message: typeof error["message"] === "string" ? error["message"] : "the response failed",
  };
}

/** The endpoint sends an empty list where log probabilities were not asked for. */
function nonEmpty(entries: unknown): unknown {
  return Array.isArray(entries) && entries.length > 0 ? entries : undefined;
}
