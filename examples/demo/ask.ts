/**
 * One call of the model with the `openai` client, whole or streamed, to the same answer.
 *
 * @module
 */
import type OpenAI from "openai";
import type { ChatCompletionCreateParamsNonStreaming } from "openai/resources/chat/completions";
import type { AssistantMessage } from "./ledger.ts";

/** An answer. */
export interface Answer {
  id: string;
  message: AssistantMessage;
  promptTokens: number;
  completionTokens: number;
}

/** What is asked. */
export type Question = Pick<ChatCompletionCreateParamsNonStreaming, "model" | "messages" | "tools">;

/** Asks and waits for the whole answer. */
export async function askWhole(openai: OpenAI, question: Question): Promise<Answer> {
  const answer = await openai.chat.completions.create(question);
  const { content, tool_calls } = answer.choices[0]!.message;
  const calls = (tool_calls ?? []).filter((call) => call.type === "function");
  return {
    id: answer.id,
    message: { role: "assistant", content, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
    promptTokens: answer.usage!.prompt_tokens,
    completionTokens: answer.usage!.completion_tokens,
  };
}

/** Asks and puts the answer together from its chunks. */
export async function askStreamed(openai: OpenAI, question: Question): Promise<Answer> {
  const stream = await openai.chat.completions.create({
    ...question,
    stream: true,
    stream_options: { include_usage: true },
  });
  const answer: Answer = {
    id: "",
    message: { role: "assistant", content: null },
    promptTokens: 0,
    completionTokens: 0,
  };
  const calls: NonNullable<AssistantMessage["tool_calls"]> = [];
  let text = "";
  for await (const chunk of stream) {
    answer.id = chunk.id;
    if (chunk.usage) {
      answer.promptTokens = chunk.usage.prompt_tokens;
      answer.completionTokens = chunk.usage.completion_tokens;
    }
    const delta = chunk.choices[0]?.delta;
    text += delta?.content ?? "";
    for (const part of delta?.tool_calls ?? []) {
      calls[part.index] ??= { id: part.id ?? "", type: "function", function: { name: "", arguments: "" } };
      const call = calls[part.index]!.function;
      call.name += part.function?.name ?? "";
      call.arguments += part.function?.arguments ?? "";
    }
  }
  if (calls.length > 0) answer.message.tool_calls = calls;
  else answer.message.content = text;
  return answer;
}
