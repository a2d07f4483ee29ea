/**
 * What is kept of a model's answer while it arrives: primitives and our own copies, never an object of the SDK's.
 *
 * @module
 */
import type { Attributes } from "../../protocol/json.ts";
import { copyJson, isObject, type Loose } from "./shape.ts";

/** A tool call of an answer; `arguments` is JSON text as the model wrote it. */
export interface ToolCall {
  id: string | undefined;
  type: string | undefined;
  name: string;
  arguments: string;
}

/** One of the `n` alternatives of an answer. */
export interface Choice {
  role: string | undefined;
  content: string | undefined;
  reasoning: string | undefined;
  refusal: string | undefined;
  finishReason: string | undefined;
  readonly toolCalls: Map<number, ToolCall>;
  tokenIds: number[] | undefined;
  /** Copies of the entries of `logprobs.content`. */
  logprobs: unknown[] | undefined;
  /** Copies of the entries of `logprobs.refusal`. */
  refusalLogprobs: unknown[] | undefined;
}

/** Token counts as the server reported them. */
export interface Usage {
  input: number | undefined;
  output: number | undefined;
  total: number | undefined;
  cached: number | undefined;
  /** Tokens written to a cache, where the server counts them. */
  written?: number | undefined;
  reasoning: number | undefined;
}

/** An answer, whole or as far as it has arrived. */
export interface Answer {
  id: string | undefined;
  model: string | undefined;
  fingerprint: string | undefined;
  serviceTier: string | undefined;
  usage: Usage | undefined;
  promptTokenIds: number[] | undefined;
  /** By the index that the server gave. */
  readonly choices: Map<number, Choice>;
  /** Vectors of an embeddings answer. */
  embeddings: number | undefined;
  /** What only this vendor's answers have, as attributes. */
  own?: Attributes;
  /** What the server said in the body of a call that failed with HTTP status 200. */
  failure: { code: string | undefined; message: string } | undefined;
}

/** An answer of which nothing has arrived. */
export function createAnswer(): Answer {
  return {
    id: undefined,
    model: undefined,
    fingerprint: undefined,
    serviceTier: undefined,
    usage: undefined,
    promptTokenIds: undefined,
    choices: new Map(),
    embeddings: undefined,
    failure: undefined,
  };
}

/** The choice at `index`, made when it is new. */
export function choiceAt(answer: Answer, index: number): Choice {
  let choice = answer.choices.get(index);
  if (choice === undefined) {
    choice = {
      role: undefined,
      content: undefined,
      reasoning: undefined,
      refusal: undefined,
      finishReason: undefined,
      toolCalls: new Map(),
      tokenIds: undefined,
      logprobs: undefined,
      refusalLogprobs: undefined,
    };
    answer.choices.set(index, choice);
  }
  return choice;
}

/** The tool call at `index` of a choice, made when it is new. */
export function toolCallAt(choice: Choice, index: number): ToolCall {
  let call = choice.toolCalls.get(index);
  if (call === undefined) {
    call = { id: undefined, type: undefined, name: "", arguments: "" };
    choice.toolCalls.set(index, call);
  }
  return call;
}

/** `before` followed by `piece`, when `piece` is text. */
export function append(before: string | undefined, piece: unknown): string | undefined {
  if (typeof piece !== "string") return before;
  return before === undefined ? piece : before + piece;
}

/** `before` followed by the integers of `ids`; anything else than an array of integers changes nothing. */
export function appendIds(before: number[] | undefined, ids: unknown): number[] | undefined {
  if (!Array.isArray(ids)) return before;
  for (let i = 0; i < ids.length; i++) if (!Number.isInteger(ids[i])) return before;
  if (before === undefined) return ids.slice() as number[];
  for (let i = 0; i < ids.length; i++) before.push(ids[i] as number);
  return before;
}

/** `before` followed by copies of log probability entries. */
export function appendEntries(before: unknown[] | undefined, entries: unknown): unknown[] | undefined {
  if (!Array.isArray(entries)) return before;
  const all = before ?? [];
  for (const entry of entries) all.push(copyJson(entry));
  return all;
}

/** Takes over what every kind of answer says of itself. The first id and model count, the last usage does. */
export function readHead(answer: Answer, value: Loose): void {
  const { id, model, system_fingerprint: fingerprint, service_tier: tier, usage } = value;
  if (answer.id === undefined && typeof id === "string" && id !== "") answer.id = id;
  if (answer.model === undefined && typeof model === "string" && model !== "") answer.model = model;
  if (typeof fingerprint === "string") answer.fingerprint = fingerprint;
  if (typeof tier === "string") answer.serviceTier = tier;
  if (isObject(usage)) answer.usage = readUsage(usage);
}

/** Reads both spellings of usage; what is not a count is ignored. */
function readUsage(usage: Loose): Usage {
  const inputDetails = usage["prompt_tokens_details"] ?? usage["input_tokens_details"];
  const outputDetails = usage["completion_tokens_details"] ?? usage["output_tokens_details"];
  return {
    input: count(usage["prompt_tokens"]) ?? count(usage["input_tokens"]),
    output: count(usage["completion_tokens"]) ?? count(usage["output_tokens"]),
    total: count(usage["total_tokens"]),
    cached: isObject(inputDetails) ? count(inputDetails["cached_tokens"]) : undefined,
    reasoning: isObject(outputDetails) ? count(outputDetails["reasoning_tokens"]) : undefined,
  };
}

/** `value` when it is a count of tokens. */
export function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
