/**
 * The program to be trained: a planner writes steps, a solver carries them out with a calculator.
 *
 * @module
 */
import type OpenAI from "openai";
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions";
// In an app of your own: import * as agl from "agentlightning".
import * as agl from "../../src/index.ts";
import { askStreamed, askWhole } from "./ask.ts";
import { calculate } from "./calculator.ts";
import type { AssistantMessage, RolloutEntry } from "./ledger.ts";

const MODEL = "demo-model";

const PLANNER =
  "You plan. Write the steps that solve the problem, one arithmetic expression a line; #1 is the result of step 1.";
const SOLVER = "You carry out a plan. Call the calculator for every step, then give the answer.";

const CALCULATOR: ChatCompletionTool = {
  type: "function",
  function: {
    name: "calculator",
    description: "Works out an expression of numbers, + - * / % and brackets.",
    parameters: {
      type: "object",
      properties: { step: { type: "string" }, expression: { type: "string" } },
      required: ["step", "expression"],
    },
  },
};

/** An answer takes no more rounds than this. */
const MAX_ROUNDS = 10;

const calculator = agl.tool("calculator", async ({ expression }: { step: string; expression: string }) =>
  calculate(expression),
);

/** What the program writes down of one rollout. */
export type Notes = Pick<RolloutEntry, "calls" | "tools">;

let asked = 0;

/** One call of the model; every other one is streamed. */
async function ask(
  openai: OpenAI,
  notes: Notes,
  agent: string,
  messages: ChatCompletionMessageParam[],
  tools: ChatCompletionTool[],
): Promise<AssistantMessage> {
  const streamed = asked++ % 2 === 0;
  const question = { model: MODEL, messages, ...(tools.length > 0 ? { tools } : {}) };
  const answer = await (streamed ? askStreamed(openai, question) : askWhole(openai, question));
  const { id: responseId, ...rest } = answer;
  notes.calls.push({ agent, responseId, streamed, messages: [...messages], tools, ...rest });
  return answer.message;
}

async function useCalculator(notes: Notes, args: { step: string; expression: string }): Promise<string> {
  const entry = { agent: "solver", name: "calculator", arguments: args, result: undefined as unknown };
  notes.tools.push(entry);
  try {
    const value = await calculator(args);
    entry.result = value;
    return String(value);
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : error}`;
  }
}

async function writePlan(openai: OpenAI, notes: Notes, problem: string): Promise<string> {
  const messages: ChatCompletionMessageParam[] = [
    { role: "system", content: PLANNER },
    { role: "user", content: problem },
  ];
  const { content } = await ask(openai, notes, "planner", messages, []);
  return content ?? "";
}

async function carryOut(openai: OpenAI, notes: Notes, problem: string, plan: string): Promise<string> {
  const messages: ChatCompletionMessageParam[] = [
    { role: "system", content: SOLVER },
    { role: "user", content: `${problem}\n\nPlan:\n${plan}` },
  ];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const message = await ask(openai, notes, "solver", messages, [CALCULATOR]);
    if (message.tool_calls === undefined) return message.content ?? "";
    messages.push(message);
    // One after the other, so that the order in the notes is the order in time.
    for (const call of message.tool_calls) {
      const content = await useCalculator(notes, JSON.parse(call.function.arguments));
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
  return "";
}

/** Solves a problem; NaN when no number came out. */
export async function solve(openai: OpenAI, problem: string, notes: Notes): Promise<number> {
  const plan = await agl.agent("planner", () => writePlan(openai, notes, problem));
  const answer = await agl.agent("solver", () => carryOut(openai, notes, problem, plan));
  return Number(/-?\d+(?:\.\d+)?/.exec(answer)?.[0]);
}
