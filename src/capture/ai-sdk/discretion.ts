/**
 * What a user of the AI SDK does not want in traces: `recordInputs: false` and `recordOutputs: false` of its telemetry.
 *
 * @module
 */
import type { Answer } from "../openai/answer.ts";
import type { Operation } from "../openai/operations.ts";
import type { Loose } from "../openai/shape.ts";

/** What is left out. */
export interface Discretion {
  inputs: boolean;
  outputs: boolean;
}

/** The discretion that an event of the SDK asks for. */
export function discretionOf(event: Loose): Discretion {
  return { inputs: event["recordInputs"] === false, outputs: event["recordOutputs"] === false };
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
