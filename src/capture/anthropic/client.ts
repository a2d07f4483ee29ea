/**
 * Instruments an Anthropic-shaped client in place: Anthropic's own, and those for Bedrock, Vertex and Foundry.
 *
 * @module
 */
import { instrumentOpenAI } from "../openai/client.ts";
import { modelCall, type Operation } from "../openai/operations.ts";
import type { OpenAIOptions } from "../openai/settings.ts";
import { type Loose, objectAt } from "../openai/shape.ts";
import { readMessage, readMessageEvent } from "./answer.ts";
import { messagesRequest } from "./request.ts";

const messages: Omit<Operation, "path"> = {
  // The SDK takes fields of its own out of the body; the messages themselves are sent as they are.
  vendor: { name: "anthropic", errorCode: "type", bodyKey: "messages", ownSpans: true },
  name: "chat",
  span: modelCall,
  request: messagesRequest,
  whole: readMessage,
  chunk: readMessageEvent,
  keepsBody: true,
};

/** Every captured endpoint. The helpers (`parse`, `stream`, `toolRunner`, `thread`) all call one of these. */
export const MESSAGES: readonly Operation[] = [
  { path: ["messages"], ...messages },
  { path: ["beta", "messages"], ...messages },
];

/** True for a client of Anthropic's or one that looks like it: `create` and `stream` of `messages`. */
export function isAnthropicClient(value: object): value is Loose {
  return MESSAGES.some(({ path }) => {
    const resource = objectAt(value, path);
    return typeof resource?.["create"] === "function" && typeof resource["stream"] === "function";
  });
}

/** Replaces `create`, as for a client of OpenAI's; false when the client refuses it. */
export function instrumentAnthropic(client: Loose, options: OpenAIOptions): boolean {
  return instrumentOpenAI(client, options, MESSAGES);
}
