/**
 * Requests of every endpoint as one conversation, and its chat template.
 *
 * @module
 */
import type { Json, JsonObject } from "../protocol/json.ts";
import type { ModelMessage, ModelOperation } from "./model-reply.ts";
import { encode, type Mark, markId } from "./toy-tokenizer.ts";

export function asObject(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

export function asList(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

/** Text of a message's content: a string, or parts of which those that are no text become a mark. */
function contentText(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return asList(content)
    .map((part) => {
      const text = asObject(part)["text"] ?? asObject(part)["refusal"];
      return typeof text === "string" ? text : "<|media|>";
    })
    .join("");
}

function chatMessage(value: Json): ModelMessage {
  const message = asObject(value);
  return {
    role: String(message["role"] ?? "user"),
    content: contentText(message["content"]),
    toolCalls: asList(message["tool_calls"]).map((call) => {
      const fn = asObject(asObject(call)["function"]);
      return { name: String(fn["name"] ?? ""), arguments: String(fn["arguments"] ?? "") };
    }),
  };
}

/** One item of a Responses request's `input`. */
function inputItem(value: Json): ModelMessage {
  const item = asObject(value);
  if (item["type"] === "function_call") {
    const call = { name: String(item["name"] ?? ""), arguments: String(item["arguments"] ?? "") };
    return { role: "assistant", content: "", toolCalls: [call] };
  }
  if (item["type"] === "function_call_output") {
    const output = item["output"];
    return {
      role: "tool",
      content: typeof output === "string" ? output : JSON.stringify(output ?? null),
      toolCalls: [],
    };
  }
  return chatMessage(value);
}

/** A message of Anthropic's API as the messages that its blocks stand for: results of tools speak for themselves. */
function blockMessages(value: Json): ModelMessage[] {
  const { role, content } = asObject(value);
  const blocks = asList(content).map(asObject);
  const results = blocks.filter((block) => block["type"] === "tool_result");
  const out: ModelMessage[] = results.map((block) => ({
    role: "tool",
    content: contentText(block["content"]),
    toolCalls: [],
  }));
  const said = blocks.filter(
    ({ type }) => type !== "tool_result" && type !== "tool_use" && type !== "thinking",
  );
  if (results.length > 0 && said.length === 0) return out;
  const toolCalls = blocks
    .filter((block) => block["type"] === "tool_use")
    .map((block) => ({ name: String(block["name"] ?? ""), arguments: JSON.stringify(block["input"] ?? {}) }));
  const text = typeof content === "string" ? content : contentText(said);
  out.push({ role: String(role ?? "user"), content: text, toolCalls });
  return out;
}

/** The conversation that a request's body holds. */
export function messagesOf(operation: ModelOperation, body: JsonObject): ModelMessage[] {
  const user = (content: string): ModelMessage => ({ role: "user", content, toolCalls: [] });
  switch (operation) {
    case "chat":
      return asList(body["messages"]).map(chatMessage);
    case "response": {
      const input = body["input"];
      const instructions = body["instructions"];
      return [
        ...(typeof instructions === "string" ? [{ ...user(instructions), role: "system" }] : []),
        ...(typeof input === "string" ? [user(input)] : asList(input).map(inputItem)),
      ];
    }
    case "message": {
      const system = body["system"];
      return [
        ...(system === undefined ? [] : [{ ...user(contentText(system)), role: "system" }]),
        ...asList(body["messages"]).flatMap(blockMessages),
      ];
    }
    case "completion":
      return [user(typeof body["prompt"] === "string" ? body["prompt"] : "")];
    default:
      return [];
  }
}

/** Names of the tools that a request offers. */
export function toolNames(body: JsonObject): string[] {
  return asList(body["tools"]).flatMap((tool) => {
    const name = asObject(asObject(tool)["function"])["name"] ?? asObject(tool)["name"];
    return typeof name === "string" ? [name] : [];
  });
}

/** A tool call as the model writes it. */
function toolCallText(call: { name: string; arguments: string }): string {
  return `${toolCallHead(call.name)}${call.arguments}${TOOL_CALL_TAIL}`;
}

export function toolCallHead(name: string): string {
  return `<tool_call>{"name": ${JSON.stringify(name)}, "arguments": `;
}
export const TOOL_CALL_TAIL = "}</tool_call>";

/**
 * The text that the completion ids of a message decode to: thinking, content, refusal and tool calls in one.
 * Takes a message as the API gives it.
 */
export function completionText(message: {
  content?: string | null;
  reasoning?: string | null;
  refusal?: string | null;
  tool_calls?: ReadonlyArray<{ function?: { name: string; arguments: string } }> | null;
}): string {
  const thinking = message.reasoning ? `<think>${message.reasoning}</think>` : "";
  const calls = (message.tool_calls ?? []).map((call) => (call.function ? toolCallText(call.function) : ""));
  return `${thinking}${message.content ?? ""}${message.refusal ?? ""}${calls.join("")}`;
}

const ROLE_MARKS: Record<string, Mark> = {
  system: "<|system|>",
  developer: "<|system|>",
  assistant: "<|assistant|>",
  tool: "<|tool|>",
};

/** Ids of a conversation under the chat template, up to where the assistant speaks next. */
export function promptIds(messages: readonly ModelMessage[], tools: Json | undefined): number[] {
  const ids: number[] = [];
  const add = (mark: Mark, text: string) => {
    ids.push(markId(mark));
    for (const id of encode(text)) ids.push(id);
    ids.push(markId("<|end|>"));
  };
  if (asList(tools).length > 0) add("<|system|>", JSON.stringify(tools));
  for (const message of messages) {
    const text = `${message.content}${message.toolCalls.map(toolCallText).join("")}`;
    add(ROLE_MARKS[message.role] ?? "<|user|>", text);
  }
  ids.push(markId("<|assistant|>"));
  return ids;
}
