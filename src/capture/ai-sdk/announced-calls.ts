/**
 * Model calls of which version 7 tells only the start and the end, with nothing around them to run code in: those of
 * `generateObject`, `streamObject`, `embed` and `rerank`. They become spans at their end, unless the model is
 * instrumented and has recorded them itself.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import { now, type Timestamp } from "../../trace/clock.ts";
import { isRecording } from "../../trace/recorder.ts";
import { currentScope, runIn, type Scope } from "../../trace/scope.ts";
import type { Loose } from "../openai/shape.ts";
import { discretionOf } from "./discretion.ts";
import type { ModelKind } from "./kinds.ts";
import { type OpenModelCall, openModelCall } from "./model-call.ts";

interface Announced {
  kind: ModelKind;
  event: Loose;
  startTime: Timestamp;
  scope: Scope | undefined;
  /** Calls that an instrumented model had recorded there before. */
  noted: number;
}

const NOWHERE = {};
const notes = ownGlobal("ai-sdk-notes", () => new WeakMap<object, Map<unknown, number>>());

const notedOf = (modelId: unknown): number => notes.get(currentScope() ?? NOWHERE)?.get(modelId) ?? 0;

/** Notes that an instrumented model records a call itself. */
export function noteCall(modelId: unknown): void {
  const place = currentScope() ?? NOWHERE;
  const counts = notes.get(place) ?? new Map<unknown, number>();
  notes.set(place, counts.set(modelId, (counts.get(modelId) ?? 0) + 1));
}

/** Calls that are kept at a time: a stream that is given up is never told of again. */
const LIMIT = 1_000;

/** The list's methods for such calls. */
export function createAnnouncedCalls() {
  const open = new Map<string, Announced>();
  const keyOf = (event: Loose): string => `${String(event["callId"])} ${String(event["embedCallId"] ?? "")}`;
  const started = (kind: ModelKind) => (event: Loose) => {
    const scope = currentScope();
    if (!isRecording(scope?.rollout)) return;
    const [oldest] = open.keys();
    if (open.size === LIMIT && oldest !== undefined) open.delete(oldest);
    open.set(keyOf(event), { kind, event, startTime: now(), scope, noted: notedOf(event["modelId"]) });
  };
  const take = (key: string, record: (call: OpenModelCall) => void): void => {
    const announced = open.get(key);
    if (announced === undefined) return;
    open.delete(key);
    const { kind, event, startTime, scope, noted } = announced;
    runIn(scope, () => {
      const { modelId, provider, functionId, promptMessages: prompt } = event;
      if (notedOf(modelId) !== noted) return;
      const agent = kind === "language" && typeof functionId === "string" ? functionId : undefined;
      const discretion = discretionOf(event);
      const params = { ...event, prompt };
      const start = { kind, params, modelId, provider, agent, discretion, startTime, tokenIds: false };
      const call = openModelCall(start);
      if (call !== undefined) record(call);
    });
  };
  const ended = (event: Loose): void =>
    take(keyOf(event), (call) => {
      if (event["finishReason"] === "error") call.failed(event["error"]);
      else call.arrived(resultOf(event));
    });
  /** An attempt is not told of its failure: it is what is left when the call is over. */
  const over = (event: Loose): void => {
    const prefix = keyOf({ callId: event["callId"] });
    for (const key of [...open.keys()])
      if (key.startsWith(prefix)) take(key, (call) => call.failed(event["error"]));
  };
  return {
    onObjectStepStart: started("language"),
    onObjectStepEnd: ended,
    onEmbedStart: started("embedding"),
    onEmbedEnd: ended,
    onRerankStart: started("reranking"),
    onRerankEnd: ended,
    onEnd: over,
    onError: over,
  };
}

/** What the model gave, as far as the event tells. */
function resultOf(event: Loose): Loose {
  const { objectText, reasoning } = event;
  const content = [
    { type: "reasoning", text: reasoning },
    { type: "text", text: objectText },
  ].filter(({ text }) => typeof text === "string");
  return { ...event, content };
}
