/**
 * The format of `/v1/completions`.
 *
 * @module
 */
import type { Json, JsonObject } from "../protocol/json.ts";
import { type AnswerChoice, piecesOf } from "./model-answer.ts";
import {
  type AnswerFormat,
  ENGINE_FAILURE,
  type FormatInput,
  keptLogprobs,
  type StreamFrame,
  usageOf,
  wantsIds,
} from "./model-format.ts";
import { asObject } from "./model-prompt.ts";
import { createStreamingDecoder } from "./toy-tokenizer.ts";

function logprobs(input: FormatInput, choice: AnswerChoice, from: number, length: number): Json {
  if (typeof input.body["logprobs"] !== "number") return null;
  const kept = keptLogprobs(input, choice.logprobs, from, length);
  const before = choice.logprobs.slice(0, from).reduce((sum, entry) => sum + entry.token.length, 0);
  let offset = before;
  return {
    tokens: kept.map((entry) => entry.token),
    token_logprobs: kept.map((entry) => entry.logprob),
    top_logprobs: kept.map((entry) =>
      Object.fromEntries(entry.top_logprobs.map((other) => [other.token, other.logprob])),
    ),
    text_offset: kept.map((entry) => {
      const at = offset;
      offset += entry.token.length;
      return at;
    }),
  };
}

function head(input: FormatInput): JsonObject {
  return {
    id: `cmpl-${input.serial}`,
    object: "text_completion",
    created: input.created,
    model: input.model,
  };
}

function whole(input: FormatInput): JsonObject {
  const ids = wantsIds(input);
  return {
    ...head(input),
    choices: input.answer.choices.map((choice) => ({
      index: choice.index,
      text: choice.content ?? "",
      logprobs: logprobs(input, choice, 0, choice.ids.length),
      finish_reason: choice.finishReason,
      ...(ids ? { prompt_token_ids: [...input.answer.promptIds], token_ids: [...choice.ids] } : {}),
    })),
    ...(input.fault.omitUsage === true ? {} : { usage: usageOf(input) }),
  };
}

function* frames(input: FormatInput): Generator<StreamFrame> {
  const ids = wantsIds(input);
  const includeUsage =
    asObject(input.body["stream_options"])["include_usage"] === true && !input.fault.omitUsage;
  if (input.fault.emptyFirstChunk === true) yield { data: { ...head(input), choices: [] } };
  for (const choice of input.answer.choices) {
    const text = createStreamingDecoder();
    const pieces = piecesOf(choice, input.chunkTokens);
    let position = 0;
    for (const [at, piece] of pieces.entries()) {
      const last = at === pieces.length - 1;
      const entry: JsonObject = {
        index: choice.index,
        text: text.push(piece.ids) + (last ? text.end() : ""),
        logprobs: logprobs(input, choice, position, piece.ids.length),
        finish_reason: last ? choice.finishReason : null,
      };
      if (ids) {
        if (at === 0) entry["prompt_token_ids"] = [...input.answer.promptIds];
        entry["token_ids"] = [...piece.ids];
      }
      position += piece.ids.length;
      yield { data: { ...head(input), choices: [entry], ...(includeUsage ? { usage: null } : {}) } };
    }
  }
  if (includeUsage) yield { data: { ...head(input), choices: [], usage: usageOf(input) } };
}

/** Text completions. */
export const completionFormat: AnswerFormat = { whole, frames, done: true, failure: ENGINE_FAILURE };
