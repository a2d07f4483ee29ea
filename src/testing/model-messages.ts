/**
 * The format of `/v1/messages`, Anthropic's API. One choice. Token ids, where they are asked for, stand in the message,
 * and in a stream in the event that comes with or after them.
 *
 * @module
 */
import type { JsonObject } from "../protocol/json.ts";
import { type AnswerChoice, type Piece, piecesOf, type SegmentKind } from "./model-answer.ts";
import {
  type AnswerFormat,
  countTokens,
  type FormatInput,
  type StreamFrame,
  wantsIds,
} from "./model-format.ts";
import { createStreamingDecoder } from "./toy-tokenizer.ts";

/** Finish reasons in this API's words. */
const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
};

/** The body of an error. */
export function messagesFailure(type: string, message: string): JsonObject {
  return { type: "error", error: { type, message } };
}

const firstChoice = (input: FormatInput): AnswerChoice => input.answer.choices[0]!;

function stopReason(choice: AnswerChoice): string {
  if (choice.refusal !== null && choice.finishReason === "stop") return "refusal";
  return STOP_REASONS[choice.finishReason] ?? choice.finishReason;
}

/** Arguments as this API has them, which are JSON; those that a limit has cut are none. */
function inputOf(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return {};
  }
}

function blocks(choice: AnswerChoice): JsonObject[] {
  const out: JsonObject[] = [];
  const { reasoning, content, refusal } = choice;
  if (reasoning !== null) out.push({ type: "thinking", thinking: reasoning, signature: "toy" });
  for (const text of [content, refusal]) if (text) out.push({ type: "text", text, citations: null });
  for (const { id, name, arguments: text } of choice.calls) {
    out.push({ type: "tool_use", id, name, input: inputOf(text) });
  }
  return out;
}

function usage(input: FormatInput, output: number): JsonObject {
  const { prompt } = countTokens(input);
  return {
    input_tokens: prompt,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: output,
  };
}

function message(input: FormatInput, content: JsonObject[], stop: string | null, output: number): JsonObject {
  return {
    id: `msg_${input.serial}`,
    type: "message",
    role: "assistant",
    model: input.model,
    content,
    stop_reason: stop,
    stop_sequence: null,
    ...(input.fault.omitUsage === true ? {} : { usage: usage(input, output) }),
    ...(wantsIds(input) ? { prompt_token_ids: [...input.answer.promptIds] } : {}),
  };
}

function whole(input: FormatInput): JsonObject {
  const choice = firstChoice(input);
  const body = message(input, blocks(choice), stopReason(choice), countTokens(input).completion);
  return wantsIds(input) ? { ...body, token_ids: [...choice.ids] } : body;
}

/** The block that a piece belongs to, as it opens, and what its deltas are called. */
const BLOCKS: Partial<Record<SegmentKind, (choice: AnswerChoice, piece: Piece) => JsonObject>> = {
  reasoning: () => ({ type: "thinking", thinking: "", signature: "" }),
  content: () => ({ type: "text", text: "" }),
  refusal: () => ({ type: "text", text: "" }),
  call: (choice, { call }) => ({
    type: "tool_use",
    id: choice.calls[call]?.id ?? "",
    name: choice.calls[call]?.name ?? "",
    input: {},
  }),
};
const DELTAS: Partial<Record<SegmentKind, readonly [type: string, field: string]>> = {
  reasoning: ["thinking_delta", "thinking"],
  content: ["text_delta", "text"],
  refusal: ["text_delta", "text"],
  arguments: ["input_json_delta", "partial_json"],
};

function* events(input: FormatInput): Generator<JsonObject> {
  const choice = firstChoice(input);
  let index = -1;
  let open: Piece | undefined;
  let ids: number[] = [];
  const text = createStreamingDecoder();
  // What the server parses away has no event of its own: its ids go with the next one.
  const withIds = (event: JsonObject): JsonObject => {
    const found = ids;
    ids = [];
    return wantsIds(input) && found.length > 0 ? { ...event, token_ids: found } : event;
  };
  yield { type: "message_start", message: message(input, [], null, 1) };
  yield { type: "ping" };
  const pieces = piecesOf(choice, input.chunkTokens);
  for (const [at, piece] of pieces.entries()) {
    const { kind, call } = piece;
    if (!(input.fault.swallowToolTokens === true && call >= 0)) ids.push(...piece.ids);
    const start = piece.first ? BLOCKS[kind]?.(choice, piece) : undefined;
    if (start !== undefined) {
      if (open !== undefined) yield withIds({ type: "content_block_stop", index });
      index++;
      open = piece;
      yield withIds({ type: "content_block_start", index, content_block: start });
    }
    const [type, field] = DELTAS[kind] ?? [];
    if (type === undefined || field === undefined) continue;
    const next = pieces[at + 1];
    const ends = next?.kind !== kind || next.call !== call;
    const delta = { type, [field]: text.push(piece.ids) + (ends ? text.end() : "") };
    yield withIds({ type: "content_block_delta", index, delta });
    if (kind === "reasoning" && ends) {
      yield { type: "content_block_delta", index, delta: { type: "signature_delta", signature: "toy" } };
    }
  }
  if (open !== undefined) yield withIds({ type: "content_block_stop", index });
  yield withIds({
    type: "message_delta",
    delta: { stop_reason: stopReason(choice), stop_sequence: null },
    ...(input.fault.omitUsage === true ? {} : { usage: usage(input, countTokens(input).completion) }),
  });
  yield { type: "message_stop" };
}

function* frames(input: FormatInput): Generator<StreamFrame> {
  for (const data of events(input)) yield { event: String(data["type"]), data };
}

/** Messages. */
export const messageFormat: AnswerFormat = {
  whole,
  frames,
  done: false,
  failure: { event: "error", data: messagesFailure("api_error", "the engine stopped") },
};
