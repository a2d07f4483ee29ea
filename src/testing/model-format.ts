/**
 * What all endpoints' formats share: the call to be answered, and its usage.
 *
 * @module
 */
import type { JsonObject } from "../protocol/json.ts";
import type { ModelAnswer } from "./model-answer.ts";
import type { Fault } from "./model-reply.ts";

/** Which server the answers look like; see `ModelServerOptions.flavour`. */
export type Flavour = "vllm" | "sglang" | "openai";

/** An answer on its way into an endpoint's format. */
export interface FormatInput {
  /** Hex digits that make the answer's ids. */
  serial: string;
  /** Seconds since the epoch. */
  created: number;
  model: string;
  body: JsonObject;
  answer: ModelAnswer;
  fault: Fault;
  flavour: Flavour;
  /** Field of the thinking text. */
  reasoningField: "reasoning" | "reasoning_content";
  chunkTokens: number;
}

/** One event of a stream; `event` is its name where the format names them. */
export interface StreamFrame {
  event?: string;
  data: JsonObject;
}

/** An endpoint's format. */
export interface AnswerFormat {
  whole(input: FormatInput): JsonObject;
  frames(input: FormatInput): Iterable<StreamFrame>;
  /** Whether a stream ends with `data: [DONE]`. */
  done: boolean;
  /** The last event of a stream that fails on the way. */
  failure: StreamFrame;
}

/** How OpenAI's endpoints tell that they failed. */
export const ENGINE_FAILURE: StreamFrame = {
  data: { error: { message: "the engine stopped", type: "InternalServerError", param: null, code: 500 } },
};

/** Whether token ids are part of the answer. */
export function wantsIds(input: FormatInput): boolean {
  return (
    input.body["return_token_ids"] === true && input.flavour !== "openai" && input.fault.omitTokenIds !== true
  );
}

/** Counts of an answer: exactly its ids, unless a fault says otherwise. */
export function countTokens(input: FormatInput): { prompt: number; completion: number } {
  const completion = input.answer.choices.reduce((sum, choice) => sum + choice.ids.length, 0);
  return { prompt: input.answer.promptIds.length, completion: completion + (input.fault.usageOffset ?? 0) };
}

/** `usage` of chat and text completions. */
export function usageOf(input: FormatInput): JsonObject {
  const { prompt, completion } = countTokens(input);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

/** The items of `logprobs` that are sent. */
export function keptLogprobs<T>(input: FormatInput, all: readonly T[], from: number, length: number): T[] {
  const end = all.length - (input.fault.dropLogprobs ?? 0);
  return all.slice(from, Math.max(from, Math.min(from + length, end)));
}
