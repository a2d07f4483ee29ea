/**
 * Reads the answer of a model as LangChain gives it.
 *
 * @module
 */
import { type Answer, appendEntries, choiceAt, toolCallAt } from "../openai/answer.ts";
import { isObject, type Loose, toJson } from "../openai/shape.ts";
import { field } from "./model-request.ts";

/** Takes over an `LLMResult` of one prompt. */
export function readResult(answer: Answer, result: unknown): void {
  const generations = field(result, "generations");
  const first: unknown = Array.isArray(generations) ? generations[0] : undefined;
  if (!Array.isArray(first)) return;
  for (const [index, generation] of first.entries()) {
    if (isObject(generation)) readGeneration(answer, index, generation);
  }
  answer.usage ??= readUsage(field(field(result, "llmOutput"), "tokenUsage"));
}

function readGeneration(answer: Answer, index: number, generation: Loose): void {
  const choice = choiceAt(answer, index);
  const message = isObject(generation["message"]) ? generation["message"] : {};
  const about = isObject(message["response_metadata"]) ? message["response_metadata"] : {};
  const info = isObject(generation["generationInfo"]) ? generation["generationInfo"] : {};
  const { id, content } = message;
  // LangChain makes an id of its own where the provider gave none.
  if (typeof id === "string" && !id.startsWith("run-")) answer.id ??= id;
  const model = about["model_name"] ?? about["model"];
  if (typeof model === "string") answer.model ??= model;
  const text = textOf(content) ?? (field(content, "length") ? toJson(content) : generation["text"]);
  if (typeof text === "string") choice.content = text;
  const reason = info["finish_reason"] ?? about["finish_reason"] ?? about["stop_reason"];
  if (typeof reason === "string") choice.finishReason = reason === "max_tokens" ? "length" : reason;
  const logprobs = info["logprobs"] ?? about["logprobs"];
  choice.logprobs = appendEntries(choice.logprobs, field(logprobs, "content"));
  const calls = message["tool_calls"];
  if (Array.isArray(calls)) for (const [at, call] of calls.entries()) readCall(toolCallAt(choice, at), call);
  answer.usage ??= readUsage(message["usage_metadata"]);
}

function readCall(own: ReturnType<typeof toolCallAt>, call: unknown): void {
  const id = field(call, "id");
  if (typeof id === "string") own.id = id;
  own.type = "function";
  own.name = String(field(call, "name") ?? "");
  own.arguments = toJson(field(call, "args")) ?? "";
}

/** The text of a message's content, or of its blocks; undefined when none is text. */
export function textOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return typeof content === "string" ? content : undefined;
  const texts = content.map((block) => field(block, "text")).filter((text) => typeof text === "string");
  return texts.length > 0 ? texts.join("") : undefined;
}

/** Reads `usage_metadata` and the older `tokenUsage`. */
function readUsage(usage: unknown): Answer["usage"] {
  if (!isObject(usage)) return undefined;
  const count = (value: unknown) => (typeof value === "number" ? value : undefined);
  const own = {
    input: count(usage["input_tokens"] ?? usage["promptTokens"]),
    output: count(usage["output_tokens"] ?? usage["completionTokens"]),
    total: count(usage["total_tokens"] ?? usage["totalTokens"]),
    cached: count(field(usage["input_token_details"], "cache_read")),
    reasoning: count(field(usage["output_token_details"], "reasoning")),
  };
  return own.input === undefined && own.output === undefined ? undefined : own;
}
