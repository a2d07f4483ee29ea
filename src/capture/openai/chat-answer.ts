/**
 * Reads chat completions, whole and chunk by chunk.
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

/** Reads a `chat.completion`. */
export function readChatCompletion(answer: Answer, value: Loose): void {
  read(answer, value, "message");
}

/** Reads a `chat.completion.chunk`. */
export function readChatChunk(answer: Answer, value: Loose): void {
  read(answer, value, "delta");
}

function read(answer: Answer, value: Loose, field: "message" | "delta"): void {
  readHead(answer, value);
  if (answer.promptTokenIds === undefined) {
    answer.promptTokenIds = appendIds(undefined, value["prompt_token_ids"]);
  }
  const choices = value["choices"];
  if (!Array.isArray(choices)) return;
  for (let i = 0; i < choices.length; i++) {
    const raw: unknown = choices[i];
    if (!isObject(raw)) continue;
    const index = typeof raw["index"] === "number" ? raw["index"] : i;
    const choice = choiceAt(answer, index);
    const message = raw[field];
    if (isObject(message)) readMessage(choice, message);
    if (typeof raw["finish_reason"] === "string") choice.finishReason = raw["finish_reason"];
    const logprobs = raw["logprobs"];
    if (isObject(logprobs)) {
      choice.logprobs = appendEntries(choice.logprobs, logprobs["content"]);
      choice.refusalLogprobs = appendEntries(choice.refusalLogprobs, logprobs["refusal"]);
    }
    readChoiceIds(answer, choice, raw);
  }
  const perChoice = value["response_token_ids"];
  if (Array.isArray(perChoice)) readOldIds(answer, perChoice);
}

/** Takes over token ids that stand in a choice: vLLM's place for the answer's ids, SGLang's for both. */
export function readChoiceIds(answer: Answer, choice: Choice, raw: Loose): void {
  if (answer.promptTokenIds === undefined) {
    answer.promptTokenIds = appendIds(undefined, raw["prompt_token_ids"]);
  }
  const own = raw["token_ids"];
  if (own !== undefined && own !== null) {
    choice.tokenIds = appendIds(choice.tokenIds, own);
    return;
  }
  const moved = raw["provider_specific_fields"];
  if (isObject(moved)) choice.tokenIds = appendIds(choice.tokenIds, moved["token_ids"]);
}

/** Before vLLM had the option, servers patched by Agent Lightning sent one list per choice beside the choices. */
function readOldIds(answer: Answer, perChoice: readonly unknown[]): void {
  for (const [index, choice] of answer.choices) {
    choice.tokenIds ??= appendIds(undefined, perChoice[index]);
  }
}

function readMessage(choice: Choice, message: Loose): void {
  const { role, content, refusal, tool_calls: calls, function_call: single } = message;
  if (choice.role === undefined && typeof role === "string" && role !== "") choice.role = role;
  if (typeof content === "string") choice.content = append(choice.content, content);
  else if (Array.isArray(content)) choice.content = append(choice.content, toJson(content));
  // vLLM renamed `reasoning_content` to `reasoning`; some servers send both, with the same text.
  const reasoning = message["reasoning"] ?? message["reasoning_content"];
  if (typeof reasoning === "string") choice.reasoning = append(choice.reasoning, reasoning);
  if (typeof refusal === "string") choice.refusal = append(choice.refusal, refusal);
  if (Array.isArray(calls)) {
    for (let i = 0; i < calls.length; i++) if (isObject(calls[i])) readToolCall(choice, calls[i], i);
  }
  if (isObject(single)) readToolCall(choice, { index: 0, function: single }, 0);
}

function readToolCall(choice: Choice, raw: Loose, position: number): void {
  const call = toolCallAt(choice, toolIndex(choice, raw, position));
  if (typeof raw["id"] === "string" && raw["id"] !== "") call.id = raw["id"];
  if (typeof raw["type"] === "string") call.type = raw["type"];
  const fn = raw["function"];
  const custom = raw["custom"];
  if (isObject(fn)) {
    if (typeof fn["name"] === "string") call.name += fn["name"];
    if (typeof fn["arguments"] === "string") call.arguments += fn["arguments"];
    else if (isObject(fn["arguments"])) call.arguments += toJson(fn["arguments"]) ?? "";
  } else if (isObject(custom)) {
    if (typeof custom["name"] === "string") call.name += custom["name"];
    if (typeof custom["input"] === "string") call.arguments += custom["input"];
  }
}

/** Servers that leave out the index send a new id with each new call, and pieces of the last one without. */
function toolIndex(choice: Choice, raw: Loose, position: number): number {
  if (typeof raw["index"] === "number") return raw["index"];
  const { size } = choice.toolCalls;
  const id = raw["id"];
  if (typeof id !== "string" || id === "") return size === 0 ? position : size - 1;
  for (const [index, call] of choice.toolCalls) if (call.id === id) return index;
  return size;
}
