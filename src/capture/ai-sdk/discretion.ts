/**
 * What a user of the AI SDK does not want in traces: `recordInputs: false` and `recordOutputs: false` of its telemetry, and
 * `isEnabled: false` where telemetry is on otherwise (version 7).
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import { currentScope, ownScope, type Scope, withScope } from "../../trace/scope.ts";
import type { Answer } from "../openai/answer.ts";
import type { Operation } from "../openai/operations.ts";
import { isObject, type Loose } from "../openai/shape.ts";

/** What is left out; with `off` everything. */
export interface Discretion {
  inputs: boolean;
  outputs: boolean;
  off: boolean;
}

/** The discretion that telemetry options, or an event of the SDK, ask for. */
export function discretionOf({ recordInputs, recordOutputs, isEnabled }: Loose): Discretion {
  return { inputs: recordInputs === false, outputs: recordOutputs === false, off: isEnabled === false };
}

/** The telemetry options of a call. Those of versions 5 and 6 say whether the SDK makes spans of its own, which is no matter here. */
export function telemetryOf(options: Loose): Loose | undefined {
  const { telemetry, experimental_telemetry: older } = options;
  if (isObject(telemetry)) return telemetry;
  return isObject(older) ? { ...older, isEnabled: undefined } : undefined;
}

const asked = ownGlobal("ai-sdk-discretion", () => new WeakMap<Scope, Discretion>());

/** The discretion that the call asks for that the code is part of, directly: what a tool does is its own affair. */
export function currentDiscretion(): Discretion | undefined {
  const scope = currentScope();
  return scope && asked.get(scope);
}

/** Runs `fn` in a place of its own with that discretion. */
export function withDiscretion<R>(discretion: Discretion | undefined, fn: () => R): R {
  if (discretion === undefined && currentDiscretion() === undefined) return fn();
  return withScope({}, () => {
    const scope = ownScope();
    if (scope !== undefined && discretion !== undefined) asked.set(scope, discretion);
    return fn();
  });
}

/** `operation` without what is not to be recorded. Token ids are texts too. */
export function discreet(operation: Operation, { inputs, outputs }: Discretion): Operation {
  if (!inputs && !outputs) return operation;
  const forget = (answer: Answer): void => {
    if (inputs) answer.promptTokenIds = undefined;
    if (!outputs) return;
    for (const choice of answer.choices.values()) {
      choice.content = undefined;
      choice.reasoning = undefined;
      choice.refusal = undefined;
      choice.tokenIds = undefined;
      choice.logprobs = undefined;
      choice.refusalLogprobs = undefined;
      choice.toolCalls.clear();
    }
  };
  return {
    ...operation,
    request: (body) => operation.request(inputs ? withoutTexts(body) : body),
    whole(answer, value) {
      operation.whole(answer, value);
      forget(answer);
    },
    chunk(answer, value) {
      operation.chunk(answer, value);
      forget(answer);
    },
  };
}

function withoutTexts(body: Loose): Loose {
  const { messages, prompt, input, instructions, tools, ...rest } = body;
  return rest;
}
