/**
 * A scripted reply as tokens: the one source that whole answers and streams of every endpoint are cut from.
 *
 * @module
 */
import type { Json } from "../protocol/json.ts";
import { TOOL_CALL_TAIL, toolCallHead } from "./model-prompt.ts";
import type { ChoiceReply, Reply } from "./model-reply.ts";
import { bytesOf, decode, END_ID, encode, VOCABULARY_SIZE } from "./toy-tokenizer.ts";

/** What a run of tokens stands for in the answer; `markup` is parsed away by the server. */
export type SegmentKind = "reasoning" | "content" | "refusal" | "call" | "arguments" | "markup";

/** A run of tokens. */
export interface Segment {
  kind: SegmentKind;
  /** Which tool call it belongs to; -1 for none. */
  call: number;
  ids: readonly number[];
}

/** Log probability of one token. */
export interface TokenLogprob {
  token: string;
  logprob: number;
  bytes: number[];
  top_logprobs: Array<{ token: string; logprob: number; bytes: number[] }>;
}

/** One choice of an answer. */
export interface AnswerChoice {
  index: number;
  segments: readonly Segment[];
  /** Every id that was generated, the end mark included when the model stopped by itself. */
  ids: readonly number[];
  /** One a token, all of a deterministic value. */
  logprobs: readonly TokenLogprob[];
  finishReason: string;
  content: string | null;
  reasoning: string | null;
  refusal: string | null;
  calls: ReadonlyArray<{ id: string; name: string; arguments: string }>;
}

/** An answer, before it is put into an endpoint's format. */
export interface ModelAnswer {
  promptIds: readonly number[];
  choices: readonly AnswerChoice[];
}

/** What an answer is made for. */
export interface AnswerRequest {
  promptIds: readonly number[];
  /** Choices wanted. */
  n: number;
  /** Token limit of each choice. */
  maxTokens: number;
  topLogprobs: number;
  /** Makes the ids of tool calls. */
  idPrefix: string;
  /** Varies the log probabilities. */
  seed: number;
}

function mix(...values: number[]): number {
  let hash = 0x811c9dc5;
  for (const value of values) {
    hash = Math.imul(hash ^ value, 0x01000193);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}

/** A value of -4 to just under 0 that a double, a float and a decimal all hold exactly. */
function logprobAt(seed: number, choice: number, position: number, id: number): number {
  return -((mix(seed, choice, position, id) % 4096) + 1) / 1024;
}

function tokenLogprob(id: number, logprob: number, top: number): TokenLogprob {
  const entry = (token: number, value: number) => ({
    token: decode([token], { marks: true }),
    logprob: value,
    bytes: bytesOf(token),
  });
  const others = Array.from({ length: top }, (_, rank) =>
    entry((id + rank) % VOCABULARY_SIZE, logprob - rank * 0.25),
  );
  return { ...entry(id, logprob), top_logprobs: others };
}

function argumentsText(value: Json | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? {});
}

function segmentsOf(reply: ChoiceReply): Segment[] {
  const segments: Segment[] = [];
  const add = (kind: SegmentKind, text: string | null | undefined, call = -1) => {
    if (text) segments.push({ kind, call, ids: encode(text) });
  };
  if (reply.reasoning) {
    add("markup", "<think>");
    add("reasoning", reply.reasoning);
    add("markup", "</think>");
  }
  add("content", reply.content);
  add("refusal", reply.refusal);
  (reply.toolCalls ?? []).forEach((call, index) => {
    add("call", toolCallHead(call.name), index);
    add("arguments", argumentsText(call.arguments), index);
    add("markup", TOOL_CALL_TAIL, index);
  });
  return segments;
}

/** Cuts a run of segments after `limit` tokens. */
function cutSegments(segments: readonly Segment[], limit: number): Segment[] {
  let left = limit;
  return segments.flatMap((segment) => {
    const ids = segment.ids.slice(0, left);
    left -= ids.length;
    return ids.length > 0 ? [{ ...segment, ids }] : [];
  });
}

function choiceOf(reply: ChoiceReply, index: number, request: AnswerRequest): AnswerChoice {
  const whole = segmentsOf(reply);
  const needed = whole.reduce((sum, segment) => sum + segment.ids.length, 0);
  const cut = needed >= request.maxTokens;
  const segments: Segment[] = cut
    ? cutSegments(whole, request.maxTokens)
    : [...whole, { kind: "markup", call: -1, ids: [END_ID] }];
  const ids = segments.flatMap((segment) => segment.ids);
  const textOf = (kind: SegmentKind, call = -1) => {
    const found = segments.filter((segment) => segment.kind === kind && segment.call === call);
    return found.length === 0 ? null : decode(found.flatMap((segment) => segment.ids));
  };
  const calls = (reply.toolCalls ?? []).flatMap((call, at) => {
    if (!segments.some((segment) => segment.call === at)) return [];
    const id = call.id ?? `call_${request.idPrefix}_${index}_${at}`;
    return [{ id, name: call.name, arguments: textOf("arguments", at) ?? "" }];
  });
  const natural = calls.length > 0 ? "tool_calls" : "stop";
  return {
    index,
    segments,
    ids,
    logprobs: ids.map((id, at) =>
      tokenLogprob(id, logprobAt(request.seed, index, at, id), request.topLogprobs),
    ),
    finishReason: reply.finishReason ?? (cut ? "length" : natural),
    content: textOf("content") ?? (calls.length > 0 || reply.refusal ? null : ""),
    reasoning: textOf("reasoning"),
    refusal: textOf("refusal"),
    calls,
  };
}

/** The answer that a reply gives to a request. */
export function answerOf(reply: Reply, request: AnswerRequest): ModelAnswer {
  const replies = reply.choices ?? [reply];
  const choices = Array.from({ length: request.n }, (_, index) =>
    choiceOf(replies[Math.min(index, replies.length - 1)] ?? {}, index, request),
  );
  return { promptIds: request.promptIds, choices };
}

/** A piece of a stream: tokens of one segment. */
export interface Piece {
  kind: SegmentKind;
  call: number;
  ids: readonly number[];
  logprobs: readonly TokenLogprob[];
  /** True for the first piece of its segment. */
  first: boolean;
}

/** Cuts a choice into pieces of at most `size` tokens, none across two segments. */
export function piecesOf(choice: AnswerChoice, size: number): Piece[] {
  const pieces: Piece[] = [];
  let position = 0;
  for (const { kind, call, ids } of choice.segments) {
    for (let at = 0; at < ids.length; at += size) {
      const part = ids.slice(at, at + size);
      const logprobs = choice.logprobs.slice(position, position + part.length);
      pieces.push({ kind, call, ids: part, logprobs, first: at === 0 });
      position += part.length;
    }
  }
  return pieces;
}
