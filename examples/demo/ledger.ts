/**
 * What the agent program itself saw: written from the answers it got, never from spans, so that the store's account can
 * be checked against it.
 *
 * @module
 */
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions";

/** One model call. */
export interface CallEntry {
  agent: string;
  responseId: string;
  streamed: boolean;
  messages: ChatCompletionMessageParam[];
  tools: ChatCompletionTool[];
  /** The answer's message. */
  message: AssistantMessage;
  promptTokens: number;
  completionTokens: number;
}

/** A message of the model. */
export interface AssistantMessage {
  role: "assistant";
  content: string | null;
  tool_calls?: Array<{ id: string; type: "function"; function: { name: string; arguments: string } }>;
}

/** One call of a tool. */
export interface ToolEntry {
  agent: string;
  name: string;
  arguments: unknown;
  /** The result; undefined when the tool threw. */
  result: unknown;
}

/** One rollout. */
export interface RolloutEntry {
  rolloutId: string;
  attemptId: string;
  problem: string;
  calls: CallEntry[];
  tools: ToolEntry[];
  /** Dimensions of the reward, the primary one first. */
  reward: Array<{ name: string; value: number }>;
}
