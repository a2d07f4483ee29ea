/**
 * A request's body as span attributes: OpenTelemetry's parameters, and the flattened prompt and functions that
 * upstream's adapters read. Works on the parsed JSON of the body, so what it sees is what was sent.
 *
 * @module
 */
import type { Attributes } from "../../protocol/json.ts";
import { GenAi } from "../../protocol/semconv.ts";
import { createMessageNames } from "./message-names.ts";
import { isObject, type Loose, toJson } from "./shape.ts";

const promptNames = createMessageNames(GenAi.Prompt);

/** Parameters that have a name in the conventions; every other one is written as `gen_ai.request.<name>`. */
const RENAMED: Readonly<Record<string, string>> = {
  max_completion_tokens: "gen_ai.request.max_tokens",
  max_output_tokens: "gen_ai.request.max_tokens",
  n: "gen_ai.request.choice.count",
  dimensions: "gen_ai.embeddings.dimension.count",
};
/** Written elsewhere, or not about the model's work. */
const SKIPPED: ReadonlySet<string> = new Set([
  "messages",
  "prompt",
  "input",
  "instructions",
  "system",
  // Holds the keys of other servers.
  "mcp_servers",
  "tools",
  "functions",
  "user",
]);

/** Fields of a message that are written under their own names. */
const SELDOM = ["name", "tool_call_id", "refusal"] as const;

/** Attributes of a chat completion's request. */
export function chatRequest(body: Loose): Attributes {
  const attributes = parameters(body);
  const messages = body["messages"];
  if (Array.isArray(messages)) {
    for (let i = 0; i < messages.length; i++) {
      if (isObject(messages[i])) writeMessage(attributes, i, messages[i]);
    }
  }
  return attributes;
}

/** Attributes of a text completion's request; each prompt counts as a user's message. */
export function completionRequest(body: Loose): Attributes {
  const attributes = parameters(body);
  const prompt = body["prompt"];
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt : [prompt];
  for (let i = 0; i < prompts.length; i++) {
    if (prompts[i] === undefined || prompts[i] === null) continue;
    attributes[`${GenAi.Prompt}.${i}.role`] = "user";
    put(attributes, `${GenAi.Prompt}.${i}.content`, prompts[i]);
  }
  return attributes;
}

/** Attributes of a request to the responses endpoint, its input items as messages. */
export function responsesRequest(body: Loose): Attributes {
  const attributes = parameters(body);
  const { instructions, input } = body;
  const items: unknown[] = typeof input === "string" ? [{ role: "user", content: input }] : [];
  if (Array.isArray(input)) items.push(...input);
  if (typeof instructions === "string") items.unshift({ role: "system", content: instructions });
  for (let i = 0; i < items.length; i++) {
    if (isObject(items[i])) writeMessage(attributes, i, asMessage(items[i] as Loose));
  }
  return attributes;
}

/** Attributes of an embeddings request. The texts are not written: nothing is trained on them. */
export function embeddingRequest(body: Loose): Attributes {
  return parameters(body);
}

/** Everything of a request but the conversation. */
export function parameters(body: Loose): Attributes {
  const attributes: Attributes = {};
  for (const name in body) {
    if (SKIPPED.has(name)) continue;
    const value = body[name];
    if ((name === "stop" || name === "stop_sequences") && Array.isArray(value))
      attributes["gen_ai.request.stop_sequences"] = value.map(String);
    else if (name === "stop" && typeof value === "string")
      attributes["gen_ai.request.stop_sequences"] = [value];
    else put(attributes, RENAMED[name] ?? `gen_ai.request.${name}`, value);
  }
  const tools = Array.isArray(body["tools"]) ? body["tools"] : body["functions"];
  if (Array.isArray(tools)) {
    for (let i = 0; i < tools.length; i++) if (isObject(tools[i])) writeFunction(attributes, i, tools[i]);
  }
  return attributes;
}

/** Upstream's reader needs `name` and `parameters` of each; a tool of the server's is named by its type. */
function writeFunction(attributes: Attributes, index: number, tool: Loose): void {
  const fn = isObject(tool["function"]) ? tool["function"] : isObject(tool["custom"]) ? tool["custom"] : tool;
  const at = `${GenAi.Functions}.${index}`;
  put(attributes, `${at}.name`, fn["name"] ?? tool["type"] ?? "");
  put(attributes, `${at}.description`, fn["description"]);
  attributes[`${at}.parameters`] = toJson(fn["parameters"] ?? {}) ?? "{}";
}

/** An item of a response's input in the form of a chat message. */
function asMessage(item: Loose): Loose {
  const { type, role, call_id: id, name, arguments: args, input, output } = item;
  if (typeof role === "string") return item;
  if (type === "function_call" || type === "custom_tool_call") {
    return {
      role: "assistant",
      tool_calls: [{ id, type: "function", function: { name, arguments: args ?? input } }],
    };
  }
  if (type === "function_call_output" || type === "custom_tool_call_output") {
    return { role: "tool", tool_call_id: id, content: output };
  }
  return { role: typeof type === "string" ? type : "item", content: toJson(item) };
}

/** Writes one message of the prompt, in the form of a chat completion's. */
export function writeMessage(attributes: Attributes, position: number, message: Loose): void {
  const names = promptNames(position);
  const { role, content, tool_calls: calls, function_call: single } = message;
  if (typeof role === "string") attributes[names.role] = role;
  if (typeof content === "string") attributes[names.content] = content;
  else put(attributes, names.content, content);
  // Most messages are a role and a text; the names of the rest are made when there is something to name.
  for (const name of SELDOM) if (name in message) put(attributes, `${names.at}.${name}`, message[name]);
  const reasoning = message["reasoning"] ?? message["reasoning_content"];
  if (reasoning !== undefined) put(attributes, `${names.at}.reasoning`, reasoning);
  if (calls === undefined && single === undefined) return;
  const all = Array.isArray(calls) ? calls : isObject(single) ? [{ id: "", function: single }] : [];
  for (let i = 0; i < all.length; i++) {
    const call: unknown = all[i];
    if (!isObject(call)) continue;
    const custom = call["custom"];
    const fn = isObject(call["function"]) ? call["function"] : isObject(custom) ? custom : {};
    const own = `${names.at}.tool_calls.${i}`;
    // Readers take all three of each call.
    put(attributes, `${own}.id`, call["id"] ?? "");
    put(attributes, `${own}.name`, fn["name"] ?? "");
    put(attributes, `${own}.arguments`, fn["arguments"] ?? fn["input"] ?? "");
  }
}

/** Writes a value as attributes can hold it: a scalar as it is, anything else as JSON. */
function put(attributes: Attributes, name: string, value: unknown): void {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    attributes[name] = value;
  } else if (value !== undefined && value !== null) {
    const json = toJson(value);
    if (json !== undefined) attributes[name] = json;
  }
}
