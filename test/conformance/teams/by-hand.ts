/**
 * The team by hand: plain functions, named with `agl.agent`.
 *
 * @module
 */
import OpenAI from "openai";
import * as agl from "../../../src/index.ts";
import { type AgentName, instructions, multiply, type Run, type Team } from "./team.ts";

const TOOLS: OpenAI.Chat.ChatCompletionFunctionTool[] = [
  { type: "function", function: { name: "multiply", parameters: { type: "object", properties: {} } } },
];

export const byHand: Team = {
  name: "by hand",
  orders: ["turns", "together"],
  async open(baseURL) {
    const openai = agl.instrument(new OpenAI({ apiKey: "key", baseURL, maxRetries: 0 }));
    const calculate = agl.tool("multiply", multiply);

    async function ask(name: AgentName, text: string, { streamed }: Run): Promise<string> {
      const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [
        { role: "system", content: instructions(name) },
        { role: "user", content: text },
      ];
      for (;;) {
        const body = { model: "toy", messages, ...(name === "solver" ? { tools: TOOLS } : {}) };
        const { choices } = streamed
          ? await openai.chat.completions.stream(body).finalChatCompletion()
          : await openai.chat.completions.create(body);
        const { content, tool_calls: calls } = choices[0]!.message;
        if (calls === undefined || calls.length === 0) return content ?? "";
        messages.push({ role: "assistant", content, tool_calls: calls });
        for (const call of calls) {
          if (call.type !== "function") continue;
          const result = calculate(JSON.parse(call.function.arguments));
          messages.push({ role: "tool", tool_call_id: call.id, content: result });
        }
      }
    }

    const plan = (run: Run) => agl.agent("planner", () => ask("planner", "6 times 7?", run));
    const check = (answer: string, run: Run) => agl.agent("critic", () => ask("critic", answer, run));
    async function solve(task: string, run: Run): Promise<string> {
      const answer = await agl.agent("solver", () => ask("solver", task, run));
      run.solved();
      return answer;
    }

    return async (run) => {
      const task = await plan(run);
      if (run.order === "together") return Promise.all([solve(task, run), check("42", run)]);
      let verdict = "";
      do {
        verdict = await check(await solve(`${task} ${verdict}`, run), run);
      } while (verdict !== "right");
      return verdict;
    };
  },
};
