/**
 * An answer as span attributes, among them the token ids that are trained on.
 *
 * @module
 */
import type { Attributes } from "../../protocol/json.ts";
import { Agl, GenAi, Tokens } from "../../protocol/semconv.ts";
import type { Answer, Choice } from "./answer.ts";
import { toJson } from "./shape.ts";
import { tokenMismatch } from "./token-check.ts";

/** Writes `answer` into `attributes`. */
export function writeAnswer(attributes: Attributes, answer: Answer): void {
  const { id, model, fingerprint, serviceTier, embeddings } = answer;
  if (id !== undefined) attributes[GenAi.ResponseId] = id;
  if (model !== undefined) attributes[GenAi.ResponseModel] = model;
  if (fingerprint !== undefined) attributes["openai.response.system_fingerprint"] = fingerprint;
  if (serviceTier !== undefined) attributes["openai.response.service_tier"] = serviceTier;
  if (embeddings !== undefined) attributes["gen_ai.response.embeddings"] = embeddings;
  Object.assign(attributes, answer.own);
  writeUsage(attributes, answer);
  if (answer.promptTokenIds !== undefined) attributes[Tokens.Prompt] = answer.promptTokenIds;
  const indexes = [...answer.choices.keys()].sort((a, b) => a - b);
  const reasons: string[] = [];
  for (const index of indexes) {
    const choice = answer.choices.get(index) as Choice;
    writeChoice(attributes, `${GenAi.Completion}.${index}`, choice);
    writeTokens(attributes, index, choice);
    if (choice.finishReason !== undefined) reasons.push(choice.finishReason);
  }
  if (reasons.length > 0) attributes[GenAi.FinishReasons] = reasons;
  const mismatch = tokenMismatch(answer);
  if (mismatch !== undefined) attributes[Agl.TokenMismatch] = mismatch;
}

function writeUsage(attributes: Attributes, { usage }: Answer): void {
  if (usage === undefined) return;
  const { input, output, total, cached, written, reasoning } = usage;
  if (input !== undefined) {
    attributes[GenAi.InputTokens] = input;
    attributes[GenAi.PromptTokens] = input;
  }
  if (output !== undefined) {
    attributes[GenAi.OutputTokens] = output;
    attributes[GenAi.CompletionTokens] = output;
  }
  if (total !== undefined) attributes["gen_ai.usage.total_tokens"] = total;
  if (cached !== undefined) attributes["gen_ai.usage.cache_read.input_tokens"] = cached;
  if (written !== undefined) attributes["gen_ai.usage.cache_creation.input_tokens"] = written;
  if (reasoning !== undefined) attributes["gen_ai.usage.reasoning_tokens"] = reasoning;
}

function writeChoice(attributes: Attributes, at: string, choice: Choice): void {
  attributes[`${at}.role`] = choice.role ?? "assistant";
  if (choice.content !== undefined) attributes[`${at}.content`] = choice.content;
  if (choice.reasoning !== undefined) attributes[`${at}.reasoning`] = choice.reasoning;
  if (choice.refusal !== undefined) attributes[`${at}.refusal`] = choice.refusal;
  if (choice.finishReason !== undefined) attributes[`${at}.finish_reason`] = choice.finishReason;
  let position = 0;
  for (const index of [...choice.toolCalls.keys()].sort((a, b) => a - b)) {
    const call = choice.toolCalls.get(index);
    if (call === undefined) continue;
    const own = `${at}.tool_calls.${position++}`;
    attributes[`${own}.id`] = call.id ?? "";
    attributes[`${own}.type`] = call.type ?? "function";
    attributes[`${own}.name`] = call.name;
    attributes[`${own}.arguments`] = call.arguments;
  }
}

/** Adapters read choice 0 at the top; the other choices keep theirs beside their text. */
function writeTokens(attributes: Attributes, index: number, choice: Choice): void {
  const at = `${GenAi.Completion}.${index}`;
  if (choice.tokenIds !== undefined) {
    attributes[index === 0 ? Tokens.Response : `${at}.token_ids`] = choice.tokenIds;
  }
  if (choice.logprobs !== undefined) {
    attributes[index === 0 ? Tokens.Logprobs : `${at}.logprobs`] = toJson(choice.logprobs) ?? "[]";
  }
  if (choice.refusalLogprobs !== undefined) {
    const name = index === 0 ? "logprobs.refusal" : `${at}.logprobs_refusal`;
    attributes[name] = toJson(choice.refusalLogprobs) ?? "[]";
  }
}
