/**
 * The format of `/v1/responses`. One choice; no token ids, which no server gives here.
 *
 * @module
 */
import type { Json, JsonObject } from "../protocol/json.ts";
import { type AnswerChoice, piecesOf, type SegmentKind, type TokenLogprob } from "./model-answer.ts";
import {
  type AnswerFormat,
  countTokens,
  ENGINE_FAILURE,
  type FormatInput,
  keptLogprobs,
  type StreamFrame,
} from "./model-format.ts";
import { asList } from "./model-prompt.ts";
import { createStreamingDecoder } from "./toy-tokenizer.ts";

function wantsLogprobs(input: FormatInput): boolean {
  return asList(input.body["include"]).includes("message.output_text.logprobs");
}

/** Log probabilities of the text's own tokens: the markup around it is not part of an item. */
function textLogprobs(input: FormatInput, choice: AnswerChoice): Json {
  if (!wantsLogprobs(input)) return [];
  const own: TokenLogprob[] = piecesOf(choice, 1)
    .filter((piece) => piece.kind === "content")
    .flatMap((piece) => piece.logprobs);
  return keptLogprobs(input, own, 0, own.length) as unknown as Json;
}

/** Output items of the whole answer, in the order in which a stream opens them. */
function items(input: FormatInput, choice: AnswerChoice): JsonObject[] {
  const out: JsonObject[] = [];
  if (choice.reasoning !== null) {
    out.push({
      id: `rs_${input.serial}`,
      type: "reasoning",
      summary: [],
      content: [{ type: "reasoning_text", text: choice.reasoning }],
      status: "completed",
    });
  }
  const content: JsonObject[] = [];
  if (choice.content) {
    const own = { annotations: [], logprobs: textLogprobs(input, choice) };
    content.push({ type: "output_text", text: choice.content, ...own });
  }
  if (choice.refusal !== null) content.push({ type: "refusal", refusal: choice.refusal });
  if (content.length > 0) {
    out.push({ id: `msg_${input.serial}`, type: "message", role: "assistant", status: "completed", content });
  }
  for (const [at, call] of choice.calls.entries()) {
    out.push({
      id: `fc_${input.serial}_${at}`,
      type: "function_call",
      call_id: call.id,
      name: call.name,
      arguments: call.arguments,
      status: "completed",
    });
  }
  return out;
}

function response(input: FormatInput, status: string, output: JsonObject[]): JsonObject {
  const { prompt, completion } = countTokens(input);
  const usage = {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: prompt + completion,
  };
  const { body } = input;
  return {
    id: `resp_${input.serial}`,
    object: "response",
    created_at: input.created,
    status,
    error: null,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    instructions: body["instructions"] ?? null,
    metadata: body["metadata"] ?? {},
    model: input.model,
    output,
    parallel_tool_calls: body["parallel_tool_calls"] ?? true,
    temperature: body["temperature"] ?? 1,
    text: body["text"] ?? { format: { type: "text" } },
    tool_choice: body["tool_choice"] ?? "auto",
    tools: body["tools"] ?? [],
    top_p: body["top_p"] ?? 1,
    usage: status === "in_progress" || input.fault.omitUsage === true ? null : usage,
  };
}

const firstChoice = (input: FormatInput): AnswerChoice => input.answer.choices[0]!;
const finalStatus = (choice: AnswerChoice) => (choice.finishReason === "length" ? "incomplete" : "completed");

function whole(input: FormatInput): JsonObject {
  const choice = firstChoice(input);
  return response(input, finalStatus(choice), items(input, choice));
}

/** The parts of an item that stream: where their text comes from and what their events are called. */
const PARTS: Record<string, { kind: SegmentKind; event: string; field: string }> = {
  reasoning_text: { kind: "reasoning", event: "response.reasoning_text", field: "text" },
  output_text: { kind: "content", event: "response.output_text", field: "text" },
  refusal: { kind: "refusal", event: "response.refusal", field: "refusal" },
  function_call: { kind: "arguments", event: "response.function_call_arguments", field: "arguments" },
};

/** Deltas of one part, then the event that repeats it whole. */
function* partEvents(
  input: FormatInput,
  part: JsonObject,
  where: JsonObject,
  call: number,
): Generator<JsonObject> {
  const { kind, event, field } = PARTS[String(part["type"])]!;
  const text = createStreamingDecoder();
  const logprobs = kind === "content";
  for (const piece of piecesOf(firstChoice(input), input.chunkTokens)) {
    if (piece.kind !== kind || piece.call !== call) continue;
    const given = wantsLogprobs(input) ? (piece.logprobs as unknown as Json) : [];
    const delta = text.push(piece.ids);
    yield { type: `${event}.delta`, ...where, delta, ...(logprobs ? { logprobs: given } : {}) };
  }
  const whole = part[field] ?? "";
  yield {
    type: `${event}.done`,
    ...where,
    [field]: whole,
    ...(logprobs ? { logprobs: part["logprobs"] ?? [] } : {}),
    ...(kind === "arguments" ? { name: part["name"] ?? "" } : {}),
  };
}

function* itemEvents(input: FormatInput, item: JsonObject, index: number): Generator<JsonObject> {
  const content = asList(item["content"]) as JsonObject[];
  const opened = item["type"] === "function_call" ? { arguments: "" } : { content: [] };
  const call = item["type"] === "function_call" ? Number(String(item["id"]).split("_").at(-1)) : -1;
  yield {
    type: "response.output_item.added",
    output_index: index,
    item: { ...item, ...opened, status: "in_progress" },
  };
  const where = { item_id: item["id"]!, output_index: index };
  if (call >= 0) yield* partEvents(input, item, where, call);
  for (const [at, part] of content.entries()) {
    const place = { ...where, content_index: at };
    const { field } = PARTS[String(part["type"])]!;
    yield { type: "response.content_part.added", ...place, part: { ...part, [field]: "" } };
    yield* partEvents(input, part, place, call);
    yield { type: "response.content_part.done", ...place, part };
  }
  yield { type: "response.output_item.done", output_index: index, item };
}

function* events(input: FormatInput): Generator<JsonObject> {
  const choice = firstChoice(input);
  const opened = response(input, "in_progress", []);
  yield { type: "response.created", response: opened };
  yield { type: "response.in_progress", response: opened };
  const output = items(input, choice);
  for (const [index, item] of output.entries()) yield* itemEvents(input, item, index);
  const status = finalStatus(choice);
  yield { type: `response.${status}`, response: response(input, status, output) };
}

function* frames(input: FormatInput): Generator<StreamFrame> {
  let sequence = 0;
  for (const data of events(input)) {
    yield { event: String(data["type"]), data: { ...data, sequence_number: sequence++ } };
  }
}

/** Responses. */
export const responseFormat: AnswerFormat = { whole, frames, done: false, failure: ENGINE_FAILURE };
