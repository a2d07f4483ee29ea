import { describe, expect, it } from "vitest";
import { checkAll, checkRollout } from "../../examples/demo/check.ts";
import type { StoredRollout } from "../../examples/demo/read-back.ts";
import { table } from "../../examples/demo/table.ts";
import type { Span } from "../../src/protocol/span.ts";
import { encode } from "../../src/testing/index.ts";
import { entry, stored } from "./demo-account.ts";

type Doctor = (account: StoredRollout, span: (id: string) => Span) => void;

/** What the checker says once `doctor` has changed the store's account. */
function faults(doctor: Doctor): string[] {
  const account = stored();
  doctor(account, (id) => account.spans.find((span) => span.span_id === id)!);
  return checkRollout(entry(), account);
}

const remove = (account: StoredRollout, id: string) => {
  account.spans = account.spans.filter((span) => span.span_id !== id);
};

it("has nothing to say when both accounts agree", () => {
  expect(checkAll([entry()], [stored()])).toEqual([]);
});

describe("says what does not add up:", () => {
  it.each<[string, string, Doctor]>([
    [
      "a model call is missing",
      "call chatcmpl-2 of the solver is in the store 0 times, not once",
      (account) => remove(account, "call2"),
    ],
    [
      "a model call is there twice",
      "call chatcmpl-2 of the solver is in the store 2 times, not once",
      (account, span) => account.spans.splice(3, 0, { ...span("call2"), span_id: "again", sequence_id: 3.5 }),
    ],
    [
      "a model call is there that was never made",
      "span other (openai.chat.completion) is a model call that the program never made",
      (account, span) =>
        account.spans.splice(3, 0, {
          ...span("call2"),
          span_id: "other",
          sequence_id: 3.5,
          attributes: { "gen_ai.response.id": "chatcmpl-9" },
        }),
    ],
    [
      "a tool call is missing",
      "it has 1 tool calls, but the program made 2",
      (account) => remove(account, "tool2"),
    ],
    [
      "a tool got other arguments",
      'tool call 1 (calculator) has the arguments {"e":"9"}',
      (_, span) => {
        span("tool1").attributes["gen_ai.tool.call.arguments"] = '{"e":"9"}';
      },
    ],
    [
      "a tool gave another result",
      "tool call 1 (calculator) has the result 3, but the program saw 2",
      (_, span) => {
        span("tool1").attributes["gen_ai.tool.call.result"] = "3";
      },
    ],
    [
      "a failed tool counts as a success",
      "tool call 2 (calculator) failed, but its status is OK",
      (_, span) => {
        span("tool2").status.status_code = "OK";
      },
    ],
    [
      "a call hangs under the root, not its agent",
      "call chatcmpl-3 of the solver has the parent agentlightning.rollout, not the span of its agent",
      (_, span) => {
        span("call3").parent_id = "root";
      },
    ],
    [
      "a call hangs under the other agent",
      "call chatcmpl-3 of the solver has the parent invoke_agent planner, not the span of its agent",
      (_, span) => {
        span("call3").parent_id = "planner";
      },
    ],
    [
      "an agent hangs under the other agent",
      "call chatcmpl-2 of the solver: its agent's span is not a child of the root",
      (_, span) => {
        span("solver").parent_id = "planner";
      },
    ],
    [
      "a parent is missing",
      "the parent of span call1 (openai.chat.completion), planner, is not in the store",
      (account) => remove(account, "planner"),
    ],
    [
      "there are two roots",
      "it has 2 roots (agentlightning.annotation, agentlightning.rollout), not one agentlightning.rollout",
      (_, span) => {
        span("reward").parent_id = null;
      },
    ],
    [
      "the root is missing",
      "it has 0 roots (), not one agentlightning.rollout",
      (account) => remove(account, "root"),
    ],
    [
      "a span is of another rollout",
      "span call1 (openai.chat.completion) belongs to ro-2 at-1",
      (_, span) => {
        span("call1").rollout_id = "ro-2";
      },
    ],
    [
      "a span is of another trace",
      "span call2 (openai.chat.completion) is in another trace",
      (_, span) => {
        span("call2").trace_id = "1".repeat(32);
      },
    ],
    [
      "the agent's name is wrong",
      'call chatcmpl-1 of the planner carries the agent name "solver"',
      (_, span) => {
        span("call1").attributes["agent.name"] = "solver";
      },
    ],
    [
      "the agent's name is missing",
      "tool call 1 (calculator) carries the agent name undefined",
      (_, span) => {
        delete span("tool1").attributes["agent.name"];
      },
    ],
    [
      "the reward has another value",
      "its reward is correct=0 short=0.25, but the program emitted correct=1 short=0.25",
      (_, span) => {
        span("reward").attributes["agentlightning.reward.0.value"] = 0;
      },
    ],
    [
      "a dimension of the reward is missing",
      "its reward is correct=1, but the program emitted correct=1 short=0.25",
      (_, span) => {
        delete span("reward").attributes["agentlightning.reward.1.value"];
      },
    ],
    [
      "the reward is missing",
      "it has 0 rewards, but the program emitted one",
      (account) => remove(account, "reward"),
    ],
    [
      "the reward comes before a call",
      "its reward stands before the end of span call3 (openai.chat.completion)",
      (_, span) => {
        span("reward").start_time = 12.5;
      },
    ],
    [
      "the reward belongs to an agent",
      "its reward is not a child of the root",
      (_, span) => {
        span("reward").parent_id = "solver";
      },
    ],
    [
      "an id is missing",
      "call chatcmpl-1 of the planner has 8 completion ids, but its usage says 9",
      (_, span) => {
        (span("call1").attributes["response_token_ids"] as number[]).pop();
      },
    ],
    [
      "an id is another one",
      "call chatcmpl-1 of the planner: its completion ids do not decode to the text that the program saw",
      (_, span) => {
        (span("call1").attributes["response_token_ids"] as number[])[0] = encode("x")[0]!;
      },
    ],
    [
      "the prompt's ids are missing",
      "call chatcmpl-2 of the solver: its prompt ids do not decode to the text that the program saw",
      (_, span) => {
        delete span("call2").attributes["prompt_token_ids"];
      },
    ],
    [
      "the usage differs",
      "call chatcmpl-3 of the solver: gen_ai.usage.output_tokens is 99, but the program saw 9",
      (_, span) => {
        span("call3").attributes["gen_ai.usage.output_tokens"] = 99;
      },
    ],
    [
      "log probabilities are missing",
      "call chatcmpl-3 of the solver has no log probability for each of its completion ids",
      (_, span) => {
        span("call3").attributes["logprobs.content"] = "[]";
      },
    ],
    [
      "a call is marked as a mismatch",
      "call chatcmpl-3 of the solver is marked as not to be trained on: ids",
      (_, span) => {
        span("call3").attributes["agentlightning.tokens.mismatch"] = "ids";
      },
    ],
    [
      "a streamed call counts as whole",
      "call chatcmpl-1 of the planner was streamed, but the store says otherwise",
      (_, span) => {
        delete span("call1").attributes["gen_ai.request.stream"];
      },
    ],
    [
      "sequence ids repeat",
      "span planner (invoke_agent planner) has sequence id 1, after 1",
      (_, span) => {
        span("planner").sequence_id = 1;
      },
    ],
    [
      "spans stand out of order",
      "span call2 (openai.chat.completion) stands after span tool1 (execute_tool calculator), but started before it",
      (account) => {
        const [call] = account.spans.splice(2, 1);
        account.spans.splice(3, 0, call!);
      },
    ],
    [
      "model calls stand in another order",
      "the model calls stand in the order chatcmpl-1, chatcmpl-3, chatcmpl-2, but were made in the order chatcmpl-1, chatcmpl-2, chatcmpl-3",
      (_, span) => {
        span("call2").attributes["gen_ai.response.id"] = "chatcmpl-3";
        span("call3").attributes["gen_ai.response.id"] = "chatcmpl-2";
      },
    ],
    [
      "a span ends before it starts",
      "span tool1 (execute_tool calculator) has no proper start and end",
      (_, span) => {
        span("tool1").end_time = 1;
      },
    ],
    [
      "a span never ended",
      "span tool1 (execute_tool calculator) has no proper start and end",
      (_, span) => {
        span("tool1").end_time = null;
      },
    ],
    [
      "a child outlives its parent",
      "span call1 (openai.chat.completion) is not within the time of its parent, span planner (invoke_agent planner)",
      (_, span) => {
        span("call1").end_time = 4.5;
      },
    ],
    [
      "the rollout is still running",
      "its status is running, not succeeded",
      (account) => {
        account.rollout.status = "running";
      },
    ],
    [
      "the attempt failed",
      "its attempt's status is failed, not succeeded",
      (account) => {
        account.rollout.attempt.status = "failed";
      },
    ],
    [
      "the task is another one",
      'its input is "2 + 2?", not the problem\'s text',
      (account) => {
        account.rollout.input = "2 + 2?";
      },
    ],
  ])("%s", (_name, message, doctor) => {
    expect(faults(doctor)).toContain(message);
  });

  it("a rollout is missing, another is too many", () => {
    const other = stored();
    other.rollout.rollout_id = "ro-2";
    expect(checkAll([entry()], [other])).toEqual([
      "ro-1: it is not in the store",
      "ro-2: the program never ran it",
    ]);
  });
});

it("shows a rollout as a line, and the sums", () => {
  expect(table([stored()])).toBe(
    [
      "rollout     problem  planner  solver  tools  tokens in  out  reward",
      "──────────  ───────  ───────  ──────  ─────  ─────────  ───  ──────────────",
      "ro-1        1 + 1?         1       2      2         94   92  1 (short 0.25)",
      "──────────  ───────  ───────  ──────  ─────  ─────────  ───  ──────────────",
      "1 rollouts                 1       2      2         94   92  mean 1.00",
    ].join("\n"),
  );
});

it("keeps a line within the width, down to a problem of twelve characters", () => {
  const long = stored();
  long.rollout.input = "x".repeat(100);
  const width = (columns: number) =>
    Math.max(
      ...table([long], columns)
        .split("\n")
        .map((line) => line.length),
    );
  expect([200, 100, 80, 20].map(width)).toEqual([112, 100, 80, 80]);
});
