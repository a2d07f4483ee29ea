/**
 * The format of `/v1/chat/completions`.
 *
 * @module
 */
import type { Json, JsonObject } from "../protocol/json.ts";
import { type AnswerChoice, type Piece, piecesOf } from "./model-answer.ts";
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

function message(input: FormatInput, choice: AnswerChoice): JsonObject {
  const out: JsonObject = { role: "assistant", content: choice.content, refusal: choice.refusal };
  if (choice.reasoning !== null) out[input.reasoningField] = choice.reasoning;
  if (choice.calls.length > 0) {
    out["tool_calls"] = choice.calls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    }));
  }
  return out;
}

function logprobs(input: FormatInput, choice: AnswerChoice, from: number, length: number): Json {
  if (input.body["logprobs"] !== true) return null;
  return { content: keptLogprobs(input, choice.logprobs, from, length) as unknown as Json };
}

function whole(input: FormatInput): JsonObject {
  const ids = wantsIds(input);
  const prompt = [...input.answer.promptIds];
  return {
    id: `chatcmpl-${input.serial}`,
    object: "chat.completion",
    created: input.created,
    model: input.model,
    choices: input.answer.choices.map((choice) => ({
      index: choice.index,
      message: message(input, choice),
      logprobs: logprobs(input, choice, 0, choice.ids.length),
      finish_reason: choice.finishReason,
      ...(ids ? { stop_reason: null, token_ids: [...choice.ids] } : {}),
      ...(ids && input.flavour === "sglang" ? { prompt_token_ids: prompt } : {}),
    })),
    ...(input.fault.omitUsage === true ? {} : { usage: usageOf(input) }),
    ...(ids && input.flavour === "vllm" ? { prompt_token_ids: prompt } : {}),
  };
}

function deltaOf(input: FormatInput, choice: AnswerChoice, piece: Piece, text: string): JsonObject {
  const call = choice.calls[piece.call];
  switch (piece.kind) {
    case "content":
      return { content: text };
    case "refusal":
      return { refusal: text };
    case "reasoning":
      return { [input.reasoningField]: text };
    case "call": {
      const opening = { index: piece.call, id: call?.id ?? "", type: "function" };
      return piece.first
        ? { tool_calls: [{ ...opening, function: { name: call?.name ?? "", arguments: "" } }] }
        : {};
    }
    case "arguments":
      return { tool_calls: [{ index: piece.call, function: { arguments: text } }] };
    case "markup":
      return {};
  }
}

/** Chunks of one choice; the last one carries the finish reason. */
function* choiceChunks(input: FormatInput, choice: AnswerChoice): Generator<JsonObject> {
  const ids = wantsIds(input);
  const text = createStreamingDecoder();
  const pieces = piecesOf(choice, input.chunkTokens);
  let position = 0;
  for (const [at, piece] of pieces.entries()) {
    const last = at === pieces.length - 1;
    const ends = pieces[at + 1]?.kind !== piece.kind || pieces[at + 1]?.call !== piece.call;
    const delta = deltaOf(input, choice, piece, text.push(piece.ids) + (ends ? text.end() : ""));
    const swallowed = input.fault.swallowToolTokens === true && piece.call >= 0;
    yield {
      index: choice.index,
      delta,
      logprobs: logprobs(input, choice, position, piece.ids.length),
      finish_reason: last ? choice.finishReason : null,
      ...(ids && !swallowed ? { token_ids: [...piece.ids] } : {}),
    };
    position += piece.ids.length;
  }
}

/** One chunk of each choice in turn, as a server that decodes a batch sends them. */
function* interleaved(input: FormatInput): Generator<JsonObject> {
  const running = input.answer.choices.map((choice) => choiceChunks(input, choice));
  while (running.length > 0) {
    for (const chunks of [...running]) {
      const next = chunks.next();
      if (next.done === true) running.splice(running.indexOf(chunks), 1);
      else yield next.value;
    }
  }
}

function* frames(input: FormatInput): Generator<StreamFrame> {
  const includeUsage =
    asObject(input.body["stream_options"])["include_usage"] === true && !input.fault.omitUsage;
  const head = {
    id: `chatcmpl-${input.serial}`,
    object: "chat.completion.chunk",
    created: input.created,
    model: input.model,
  };
  const chunk = (choices: JsonObject[], extra: JsonObject = {}): StreamFrame => ({
    data: { ...head, choices, ...(includeUsage ? { usage: null } : {}), ...extra },
  });
  const ids = wantsIds(input);
  const prompt = [...input.answer.promptIds];
  if (input.fault.emptyFirstChunk === true) yield chunk([]);
  for (const choice of input.answer.choices) {
    const perChoice = ids && input.flavour === "sglang" ? { prompt_token_ids: prompt } : {};
    const opening = {
      index: choice.index,
      delta: { role: "assistant", content: "" },
      logprobs: null,
      finish_reason: null,
      ...perChoice,
    };
    const first = ids && input.flavour === "vllm" && choice.index === 0;
    yield chunk([opening], first ? { prompt_token_ids: prompt } : {});
  }
  for (const choice of interleaved(input)) yield chunk([choice]);
  if (includeUsage) yield chunk([], { usage: usageOf(input) });
}

/** Chat completions. */
export const chatFormat: AnswerFormat = { whole, frames, done: true, failure: ENGINE_FAILURE };
