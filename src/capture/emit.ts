/**
 * Facts that the program states itself: rewards, tool calls made elsewhere, messages, objects, exceptions.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import { safeJson } from "../internal/safe-json.ts";
import { say } from "../internal/say.ts";
import { flatten } from "../protocol/flatten.ts";
import type { Attributes } from "../protocol/json.ts";
import {
  linkAttributes,
  type RewardValue,
  rewardAttributes,
  rewardDimensions,
  tagAttributes,
} from "../protocol/reward.ts";
import { Agl, GenAi, SpanName } from "../protocol/semconv.ts";
import type { SpanStart } from "../trace/open-span.ts";
import { startSpan } from "../trace/recorder.ts";
import { currentScope } from "../trace/scope.ts";
import { describeError } from "../trace/span-error.ts";
import { toolStart } from "./tool.ts";

/** The ids of a span that was emitted: 32 and 16 hex digits. */
export interface EmittedSpan {
  traceId: string;
  spanId: string;
}

/**
 * What a fact is about: an emitted span, a model's answer (anything with its `id`, such as the object that the OpenAI
 * SDK gives back), or attribute values that the spans meant have.
 */
export type LinkTarget = EmittedSpan | { id: string } | { attributes: Readonly<Record<string, string>> };

/** Options that every emitter takes. */
export interface EmitOptions {
  /** What the fact is about. */
  link?: LinkTarget;
  /** Free words, for filters. */
  tags?: readonly string[];
  /** Further attributes; nested values become dotted names. */
  attributes?: Readonly<Record<string, unknown>>;
}

/** Options of {@link emitReward}. */
export interface RewardOptions extends EmitOptions {
  /** The dimension that counts as the reward; needed when named dimensions are given. */
  primaryKey?: string;
}

/**
 * States how well the rollout, or one call of it, did.
 *
 * @param reward - a finite number (booleans count as 1 and 0), or named dimensions with `primaryKey`
 * @returns the span's ids; undefined when nothing records (outside a rollout, without exporters)
 * @throws AglError `invalid_argument` for NaN, an infinity, or dimensions without a valid `primaryKey`
 * @example
 * ```ts
 * import * as agl from "agentlightning";
 * await agl.rollout({ input: "2 + 2" }, async () => {
 *   agl.emitReward(0.8);
 *   agl.emitReward({ correct: 1, short: 0.3 }, { primaryKey: "correct", tags: ["graded"] });
 *   agl.emitReward(1, { link: { id: "chatcmpl-123" } });
 * });
 * ```
 */
export function emitReward(reward: RewardValue, options: RewardOptions = {}): EmittedSpan | undefined {
  const dimensions = rewardDimensions(reward, options.primaryKey);
  const rollout = currentScope()?.rollout;
  if (rollout !== undefined) rollout.reward = dimensions[0]?.value;
  else warnOutside();
  return emit(SpanName.Annotation, rewardAttributes(dimensions), options);
}

let warned = false;
function warnOutside(): void {
  if (warned) return;
  warned = true;
  say(
    "warn",
    "reward",
    "emitReward() was called outside a rollout, so the reward belongs to none and reaches no store. Call it inside agl.rollout(), or bind the callback with agl.bind().",
  );
}

/** A tool call that was made elsewhere, for {@link emitTool}. */
export interface ToolCallRecord {
  name: string;
  arguments?: unknown;
  result?: unknown;
  /** What the tool threw, when it failed. */
  error?: unknown;
  /** The model's id of the call. */
  id?: string;
}

/** Records a tool call that another program or service made. */
export function emitTool(call: ToolCallRecord, options: EmitOptions = {}): EmittedSpan | undefined {
  const start = toolStart(call.name, call.arguments);
  if (call.id !== undefined) start.attributes[GenAi.ToolCallId] = call.id;
  if (call.error === undefined) start.attributes[GenAi.ToolResult] = safeJson(call.result);
  return emit(start.name, start.attributes, options, call.error);
}

/** Records a message or log line. */
export function emitMessage(message: string, options: EmitOptions = {}): EmittedSpan | undefined {
  if (typeof message !== "string") {
    throw new AglError(
      "invalid_argument",
      `emitMessage() takes a string, got ${typeof message}. Use emitObject() for other values.`,
    );
  }
  return emit(SpanName.Message, { [Agl.MessageBody]: message }, options);
}

/** Records any value that JSON can carry; bytes (`Uint8Array`) are kept as base64. */
export function emitObject(value: unknown, options: EmitOptions = {}): EmittedSpan | undefined {
  return emit(SpanName.Object, objectAttributes(value), options);
}

/** Type names are Python's, since upstream's reader decodes the literal by them. */
function objectAttributes(value: unknown): Attributes {
  const literal = (type: string, text: string): Attributes => ({
    [Agl.ObjectType]: type,
    [Agl.ObjectLiteral]: text,
  });
  if (typeof value === "string") return literal("str", value);
  if (typeof value === "boolean") return literal("bool", value ? "True" : "False");
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return literal("int", String(value));
  if (typeof value === "number") return literal("float", pythonFloat(value));
  if (value instanceof Uint8Array)
    return literal("bytes", btoa(Array.from(value, (b) => String.fromCharCode(b)).join("")));
  const type = value === null || value === undefined ? "NoneType" : Array.isArray(value) ? "list" : "dict";
  return { [Agl.ObjectType]: type, [Agl.ObjectJson]: safeJson(value) };
}

const pythonFloat = (value: number): string =>
  Number.isNaN(value) ? "nan" : value === Infinity ? "inf" : value === -Infinity ? "-inf" : String(value);

/** Records an error that the program caught. */
export function emitException(error: unknown, options: EmitOptions = {}): EmittedSpan | undefined {
  const { attributes } = describeError(error);
  return emit(SpanName.Exception, { ...attributes, "exception.escaped": false }, options);
}

/** Records attributes of the caller's choice as an `agentlightning.annotation` span. */
export function emitAnnotation(
  attributes: Readonly<Record<string, unknown>>,
  options: Omit<EmitOptions, "attributes"> = {},
): EmittedSpan | undefined {
  return emit(SpanName.Annotation, flatten("", attributes), options);
}

function emit(name: string, own: Attributes, options: EmitOptions, error?: unknown): EmittedSpan | undefined {
  const attributes: Attributes = {
    ...(options.attributes === undefined ? {} : flatten("", options.attributes)),
    ...(options.link === undefined ? {} : linkAttributes(linkKeys(options.link))),
    ...(options.tags === undefined ? {} : tagAttributes(options.tags)),
    ...own,
  };
  const start: SpanStart = { name, attributes };
  const span = startSpan(start);
  if (span === undefined) return undefined;
  if (error === undefined) span.end();
  else span.end({ outcome: "error", error });
  return { traceId: span.traceId, spanId: span.spanId };
}

function linkKeys(target: LinkTarget): Readonly<Record<string, string>> {
  if ("spanId" in target) return { trace_id: target.traceId, span_id: target.spanId };
  if ("id" in target) return { [GenAi.ResponseId]: target.id };
  return target.attributes;
}
