/**
 * The span of an agent whose answer is streamed. Nothing of the result is touched, since asking it for anything would
 * start its stream: the steps tell when the agent is done.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import type { Outcome } from "../../protocol/semconv.ts";
import { now, type Timestamp } from "../../trace/clock.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { isObject } from "../openai/shape.ts";

/** Is told how each model call of a streamed operation ends. */
export interface StepWatch {
  /** The model has answered; with `callsTools` another step may follow. */
  finished(callsTools: boolean): void;
  /** An attempt has failed; another may follow. */
  failed(error: unknown): void;
  /** The consumer has left, or aborted the call. */
  left(aborted: boolean): void;
}

/** Retries of the AI SDK when nothing else is said. */
const MAX_RETRIES = 2;

const watches = ownGlobal("ai-sdk-steps", () => new WeakMap<OpenSpan, StepWatch>());

/** The watch of the operation with this span. */
export function stepWatchOf(span: OpenSpan | undefined): StepWatch | undefined {
  return span === undefined ? undefined : watches.get(span);
}

/** Ends `span` with the last step. A step that may be followed by another is the last when the rollout ends. */
export function watchSteps(span: OpenSpan, maxRetries: unknown): void {
  const retries = typeof maxRetries === "number" ? maxRetries : MAX_RETRIES;
  let failures = 0;
  let last: { outcome: Outcome; endTime: Timestamp } | undefined;
  watches.set(span, {
    finished(callsTools) {
      failures = 0;
      last = { outcome: "ok", endTime: now() };
      if (!callsTools) span.end(last);
    },
    failed(error) {
      last = { outcome: "error", endTime: now() };
      const final = !isObject(error) || error["isRetryable"] !== true || ++failures > retries;
      if (final) span.end({ ...last, outcome: isAbort(error) ? "aborted" : "error", error });
    },
    left(aborted) {
      span.end({ outcome: aborted ? "aborted" : "cancelled" });
    },
  });
  span.onForcedEnd = () => span.end(last ?? { outcome: "incomplete" });
}

/** True for the error of an abort. */
export function isAbort(error: unknown): boolean {
  return isObject(error) && error["name"] === "AbortError";
}
