/**
 * A request to the messages endpoint as span attributes, in the form of a chat completion's, which is what upstream's
 * readers know: the system prompt is the first message, and a tool's result is a message of the tool.
 *
 * @module
 */
import type { Attributes } from "../../protocol/json.ts";
import { GenAi } from "../../protocol/semconv.ts";
import { parameters, writeMessage } from "../openai/request-attributes.ts";
import { isObject, type Loose, toJson } from "../openai/shape.ts";

/** Attributes of a request's body. */
export function messagesRequest(body: Loose): Attributes {
  const { system, messages, tools } = body;
  const attributes = parameters(Array.isArray(tools) ? { ...body, tools: tools.map(asFunction) } : body);
  let position = 0;
  const write = (message: Loose) => writeMessage(attributes, position++, message);
  if (system !== undefined) write({ role: "system", content: plain(blocksOf(system)) });
  if (!Array.isArray(messages)) return attributes;
  for (const message of messages) {
    if (!isObject(message)) continue;
    const said = blocksOf(message["content"]);
    const results = said.filter(({ type }) => type === "tool_result");
    for (const { tool_use_id, content, is_error } of results) {
      if (is_error === true) attributes[`${GenAi.Prompt}.${position}.is_error`] = true;
      write({ role: "tool", tool_call_id: tool_use_id, content: plain(blocksOf(content)) });
    }
    if (results.length === 0 || results.length < said.length) write(asMessage(message["role"], said));
  }
  return attributes;
}

function asFunction(tool: unknown): unknown {
  return isObject(tool) ? { ...tool, parameters: tool["input_schema"] } : tool;
}

/** Content as blocks: text alone is one of them. */
function blocksOf(content: unknown): Loose[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter(isObject) : [];
}

/** The text of blocks, or the blocks themselves when they are more than text. */
function plain(blocks: readonly Loose[]): unknown {
  if (blocks.some(({ type }) => type !== "text")) return blocks;
  return blocks.map(({ text }) => text).join("");
}

/** What a message says beside tools' results. */
function asMessage(role: unknown, blocks: readonly Loose[]): Loose {
  const content: Loose[] = [];
  const calls: Loose[] = [];
  const message: Loose = { role };
  for (const block of blocks) {
    const { type, id, name, input, thinking } = block;
    if (type === "thinking") message["reasoning"] = `${message["reasoning"] ?? ""}${thinking}`;
    else if (isToolUse(type)) calls.push({ id, function: { name, arguments: toJson(input ?? {}) } });
    // What is hidden from the reader says nothing to the trainer.
    else if (type !== "tool_result" && type !== "redacted_thinking") content.push(block);
  }
  if (content.length > 0 || calls.length === 0) message["content"] = plain(content);
  if (calls.length > 0) message["tool_calls"] = calls;
  return message;
}

/** True for the types of blocks that call a tool: the user's own, the server's, or one of an MCP server. */
export function isToolUse(type: unknown): boolean {
  return type === "tool_use" || type === "server_tool_use" || type === "mcp_tool_use";
}
