/**
 * An agent with the plain `openai` client: asks the model, runs the tools that it calls, and asks again until it answers.
 *
 * @module
 */
import type OpenAI from "openai";
import type { ChatCompletion, ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { runTool, TOOLS } from "./tools.ts";

/** An answer takes no more rounds than this. */
const MAX_ROUNDS = 5;

/** Gives back every completion, the last one is the answer. */
export async function answer(openai: OpenAI, question: string): Promise<ChatCompletion[]> {
  const messages: ChatCompletionMessageParam[] = [{ role: "user", content: question }];
  const completions: ChatCompletion[] = [];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const stream = openai.chat.completions.stream({ model: "toy", messages, tools: TOOLS });
    const completion = await stream.finalChatCompletion();
    completions.push(completion);
    const message = completion.choices[0]!.message;
    const calls = (message.tool_calls ?? []).filter((call) => call.type === "function");
    if (calls.length === 0) break;
    messages.push({ role: "assistant", content: message.content, tool_calls: calls });
    const results = await Promise.all(
      calls.map(async ({ id, function: { name, arguments: args } }) => ({
        role: "tool" as const,
        tool_call_id: id,
        content: await runTool(name, args),
      })),
    );
    messages.push(...results);
  }
  return completions;
}
