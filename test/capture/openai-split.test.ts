import fc from "fast-check";
import { expect, test } from "vitest";
import { createAnswer } from "../../src/capture/openai/answer.ts";
import { writeAnswer } from "../../src/capture/openai/answer-attributes.ts";
import { OPERATIONS } from "../../src/capture/openai/operations.ts";
import type { Loose } from "../../src/capture/openai/shape.ts";
import type { Attributes } from "../../src/protocol/json.ts";
import { times } from "../times.ts";
import { logprob } from "./wire-samples.ts";

const chat = OPERATIONS[0]!;

function attributesOf(feed: (answer: ReturnType<typeof createAnswer>) => void): Attributes {
  const answer = createAnswer();
  feed(answer);
  const attributes: Attributes = {};
  writeAnswer(attributes, answer);
  return attributes;
}

/** A choice as the pieces that a server sends of it. */
const pieces = fc.array(
  fc.oneof(
    fc.record({ content: fc.string({ minLength: 1 }) }),
    fc.record({ reasoning: fc.string({ minLength: 1 }) }),
    fc.record({ refusal: fc.string({ minLength: 1 }) }),
    fc.record({ call: fc.nat(2), text: fc.string({ minLength: 1 }) }),
  ),
  { maxLength: 20 },
);
type Piece = { content?: string; reasoning?: string; refusal?: string; call?: number; text?: string };

const choices = fc.array(
  fc.record({ pieces, ids: fc.array(fc.array(fc.nat(1000), { maxLength: 4 }), { maxLength: 20 }) }),
  {
    minLength: 1,
    maxLength: 3,
  },
);

function wholeMessage(parts: readonly Piece[]): object {
  const join = (name: "content" | "reasoning" | "refusal") => {
    const texts = parts.flatMap((part) => part[name] ?? []);
    return texts.length === 0 ? null : texts.join("");
  };
  const calls = [...new Set(parts.flatMap((part) => part.call ?? []))].sort();
  return {
    role: "assistant",
    content: join("content"),
    reasoning: join("reasoning"),
    refusal: join("refusal"),
    tool_calls: calls.map((call) => ({
      index: call,
      id: `c${call}`,
      type: "function",
      function: {
        name: `f${call}`,
        arguments: parts.flatMap((part) => (part.call === call ? part.text! : [])).join(""),
      },
    })),
  };
}

function deltaOf(part: Piece, seen: Set<number>): object {
  if (part.call === undefined) return part;
  const first = !seen.has(part.call);
  seen.add(part.call);
  const head = first ? { id: `c${part.call}`, type: "function" } : {};
  const name = first ? { name: `f${part.call}` } : {};
  return { tool_calls: [{ index: part.call, ...head, function: { ...name, arguments: part.text } }] };
}

test("however an answer is cut into chunks, and whatever their order among choices, the record is the same", () => {
  fc.assert(
    fc.property(choices, fc.infiniteStream(fc.nat()), (list, order) => {
      const entries = (ids: readonly number[]) => ids.map((id) => logprob(String(id), -id / 8));
      const head = { id: "x", model: "m" };
      const whole = {
        ...head,
        prompt_token_ids: [1, 2],
        choices: list.map((choice, index) => ({
          index,
          message: wholeMessage(choice.pieces),
          finish_reason: "stop",
          token_ids: choice.ids.flat(),
          logprobs: { content: entries(choice.ids.flat()) },
        })),
      };
      const queues = list.map((choice, index) => {
        const seen = new Set<number>();
        const raw = [
          { delta: { role: "assistant" }, token_ids: [], logprobs: { content: [] } },
          ...choice.pieces.map((part) => ({ delta: deltaOf(part, seen) })),
          ...choice.ids.map((ids) => ({ delta: {}, token_ids: ids, logprobs: { content: entries(ids) } })),
          { delta: {}, finish_reason: "stop" },
        ];
        return raw.map((one) => ({ ...head, choices: [{ index, ...one }] }));
      });
      const chunks: object[] = [{ ...head, prompt_token_ids: [1, 2], choices: [] }];
      for (let left = queues.filter((queue) => queue.length > 0); left.length > 0; ) {
        chunks.push(left[order.next().value! % left.length]!.shift()!);
        left = queues.filter((queue) => queue.length > 0);
      }
      expect(
        attributesOf((answer) => {
          for (const chunk of chunks) chat.chunk(answer, chunk as Loose);
        }),
      ).toEqual(attributesOf((answer) => chat.whole(answer, whole as Loose)));
    }),
    times(100),
  );
});

test("no JSON value makes a reader throw", () => {
  const keys = fc.constantFrom(
    ...[
      "choices",
      "delta",
      "message",
      "usage",
      "tool_calls",
      "function",
      "logprobs",
      "content",
      "index",
      "token_ids",
    ],
    ...[
      "output",
      "response",
      "type",
      "item",
      "delta",
      "error",
      "data",
      "model",
      "messages",
      "input",
      "tools",
      "prompt",
    ],
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, true, 0, -1, 1.5, 1e21, "", "a", "response.output_item.added", "function_call"),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(keys, tie("value"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(value, fc.constantFrom(...OPERATIONS), (input, operation) => {
      if (typeof input !== "object" || input === null) return;
      const body = input as Loose;
      operation.request(body);
      attributesOf((answer) => {
        operation.chunk(answer, body);
        operation.whole(answer, body);
        operation.chunk(answer, body);
      });
    }),
    times(2_000),
  );
});
