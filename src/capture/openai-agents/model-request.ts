/**
 * A request as the Agents SDK gives it to a model, in the words of chat completions, which the attribute writers read.
 *
 * @module
 */
import { isObject, type Loose, toJson } from "../openai/shape.ts";

const SETTINGS: Readonly<Record<string, string>> = {
  temperature: "temperature",
  topP: "top_p",
  maxTokens: "max_tokens",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  toolChoice: "tool_choice",
};

/** The request to the model of this name as a chat completion's body; without what is said in it where that must not be told. */
export function requestBody(model: unknown, request: Loose, confidential: boolean): Loose {
  const body: Loose = { model };
  const { modelSettings: settings, input, systemInstructions: system } = request;
  if (isObject(settings)) {
    for (const name in SETTINGS) body[SETTINGS[name] as string] = settings[name];
  }
  if (confidential) return body;
  const messages: unknown[] = typeof input === "string" ? [{ role: "user", content: input }] : [];
  if (Array.isArray(input)) messages.push(...input.filter(isObject).map(asMessage));
  if (typeof system === "string" && system !== "") messages.unshift({ role: "system", content: system });
  body["messages"] = messages;
  body["tools"] = [...list(request["tools"]), ...list(request["handoffs"]).map(asTool)];
  return body;
}

const list = (value: unknown): Loose[] => (Array.isArray(value) ? value.filter(isObject) : []);

function asTool({ toolName, toolDescription, inputJsonSchema }: Loose): Loose {
  return { name: toolName, description: toolDescription, parameters: inputJsonSchema };
}

function asMessage(item: Loose): Loose {
  const { type, role, content, callId, name, arguments: args, output } = item;
  if (typeof role === "string") return { role, content: textOf(content) };
  if (type === "function_call")
    return { role: "assistant", tool_calls: [{ id: callId, function: { name, arguments: args } }] };
  if (type === "function_call_result") return { role: "tool", tool_call_id: callId, content: textOf(output) };
  return { role: type, content: toJson(item) };
}

/** The text of parts; anything but text stays as it is. */
export function textOf(content: unknown): unknown {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  const texts = parts.map((part) => (isObject(part) ? part["text"] : undefined));
  return texts.length > 0 && texts.every((text) => typeof text === "string") ? texts.join("") : content;
}
