/**
 * Reads answers of the messages endpoint, whole and event by event, in the words of chat completions. The blocks of a
 * message are one choice.
 *
 * @module
 */
import {
  type Answer,
  append,
  appendEntries,
  type Choice,
  choiceAt,
  count,
  toolCallAt,
} from "../openai/answer.ts";
import { readChoiceIds } from "../openai/chat-answer.ts";
import { isObject, type Loose, objectAt, toJson } from "../openai/shape.ts";
import { isToolUse } from "./request.ts";

const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content_filter",
};

/** Reads a `message`. */
export function readMessage(answer: Answer, value: Loose): void {
  const choice = begin(answer, value);
  const { content } = value;
  if (!Array.isArray(content)) return;
  for (let i = 0; i < content.length; i++) {
    if (!isObject(content[i])) continue;
    openBlock(choice, content[i], i);
    closeBlock(choice, i);
  }
}

/** Reads one event of a message's stream. */
export function readMessageEvent(answer: Answer, event: Loose): void {
  const { type, message, index, content_block: block, delta } = event;
  if (type === "message_start") {
    if (isObject(message)) begin(answer, message);
    return;
  }
  if (type === "error") {
    const { type: code, message: text } = objectAt(event, ["error"]) ?? {};
    answer.failure = {
      code: typeof code === "string" ? code : undefined,
      message: typeof text === "string" ? text : "the message failed",
    };
    return;
  }
  const choice = choiceAt(answer, 0);
  const at = typeof index === "number" ? index : 0;
  if (type === "content_block_start" && isObject(block)) openBlock(choice, block, at);
  else if (type === "content_block_stop") closeBlock(choice, at);
  else if (isObject(delta)) {
    if (type === "message_delta") readEnd(answer, choice, delta);
    else readDelta(choice, delta, at);
  }
  readExtras(answer, choice, event);
}

/** Takes over what a message says of itself. */
function begin(answer: Answer, message: Loose): Choice {
  const { id, model } = message;
  if (typeof id === "string") answer.id = id;
  if (typeof model === "string") answer.model = model;
  const choice = choiceAt(answer, 0);
  choice.role = "assistant";
  readEnd(answer, choice, message);
  readExtras(answer, choice, message);
  return choice;
}

/** Why the model stopped: in a message, or in the event that ends one. */
function readEnd(answer: Answer, choice: Choice, value: Loose): void {
  const { stop_reason: reason, stop_sequence: sequence } = value;
  if (typeof reason !== "string") return;
  choice.finishReason = FINISH_REASONS[reason] ?? reason;
  answer.own = { ...answer.own, "anthropic.response.stop_reason": reason };
  if (typeof sequence === "string") answer.own["anthropic.response.stop_sequence"] = sequence;
}

/** Usage, and what servers of open models add. */
function readExtras(answer: Answer, choice: Choice, value: Loose): void {
  if (isObject(value["usage"])) readUsage(answer, value["usage"]);
  readChoiceIds(answer, choice, value);
  const logprobs = value["logprobs"];
  if (isObject(logprobs)) choice.logprobs = appendEntries(choice.logprobs, logprobs["content"]);
}

/**
 * The counts of a later event replace those of an earlier one. Tokens of the cache are told apart from the others; the
 * conventions count them in.
 */
function readUsage(answer: Answer, usage: Loose): void {
  const before = answer.usage;
  const cached = count(usage["cache_read_input_tokens"]) ?? before?.cached;
  const written = count(usage["cache_creation_input_tokens"]) ?? before?.written;
  const fresh =
    count(usage["input_tokens"]) ??
    (before?.input === undefined ? undefined : before.input - (before.cached ?? 0) - (before.written ?? 0));
  answer.usage = {
    input: fresh === undefined ? undefined : fresh + (cached ?? 0) + (written ?? 0),
    output: count(usage["output_tokens"]) ?? before?.output,
    total: undefined,
    cached,
    written,
    reasoning: count(objectAt(usage, ["output_tokens_details"])?.["thinking_tokens"]) ?? before?.reasoning,
  };
  const tier = usage["service_tier"];
  if (typeof tier === "string") answer.own = { ...answer.own, "anthropic.response.service_tier": tier };
}

function openBlock(choice: Choice, block: Loose, index: number): void {
  const { type, text, thinking, id, name, input } = block;
  if (type === "text") choice.content = append(choice.content, text);
  else if (type === "thinking") choice.reasoning = append(choice.reasoning, thinking);
  else if (isToolUse(type)) {
    const call = toolCallAt(choice, index);
    if (typeof id === "string") call.id = id;
    if (typeof name === "string") call.name = name;
    call.type = type === "tool_use" ? "function" : (type as string);
    // A stream opens with an empty input, and tells the arguments afterwards.
    if (isObject(input) && Object.keys(input).length > 0) call.arguments = toJson(input) ?? "";
  }
}

function readDelta(choice: Choice, delta: Loose, index: number): void {
  const { text, thinking, partial_json: json } = delta;
  choice.content = append(choice.content, text);
  choice.reasoning = append(choice.reasoning, thinking);
  if (typeof json === "string") toolCallAt(choice, index).arguments += json;
}

/** A call without arguments has the empty object, as the SDK gives it. */
function closeBlock(choice: Choice, index: number): void {
  const call = choice.toolCalls.get(index);
  if (call?.arguments === "") call.arguments = "{}";
}
