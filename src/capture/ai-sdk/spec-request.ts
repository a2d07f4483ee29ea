/**
 * The parameters of an AI SDK model call in the form of a chat completion's body, for models whose requests on the
 * wire are of another kind.
 *
 * @module
 */
import { isObject, type Loose, toJson } from "../openai/shape.ts";

const PARAMETERS = {
  maxOutputTokens: "max_tokens",
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  stopSequences: "stop",
  seed: "seed",
} as const;

/** The body of a chat completion that says the same as `params`. */
export function specBody(params: Loose, modelId: unknown): Loose {
  const body: Loose = { model: modelId };
  for (const [from, to] of Object.entries(PARAMETERS))
    if (params[from] !== undefined) body[to] = params[from];
  const prompt = params["prompt"];
  if (Array.isArray(prompt)) body["messages"] = prompt.filter(isObject).flatMap(messagesOf);
  const tools = params["tools"];
  if (Array.isArray(tools) && tools.length > 0) body["tools"] = tools.filter(isObject).map(toolOf);
  return body;
}

function toolOf(tool: Loose): Loose {
  const { name, description, inputSchema } = tool;
  return { type: "function", function: { name, description, parameters: inputSchema } };
}

function messagesOf(message: Loose): Loose[] {
  const { role, content } = message;
  if (!Array.isArray(content)) return [{ role, content }];
  const parts = content.filter(isObject);
  if (role === "tool") return parts.filter((part) => part["type"] === "tool-result").map(resultOf);
  const calls = parts.filter((part) => part["type"] === "tool-call").map(callOf);
  const reasoning = joined(parts, "reasoning");
  const said = parts.filter((part) => part["type"] === "text" || part["type"] === "file");
  const onlyText = said.every((part) => part["type"] === "text");
  const made: Loose = { role, content: onlyText ? joined(said, "text") : said.map(partOf) };
  if (reasoning !== "") made["reasoning"] = reasoning;
  if (calls.length > 0) made["tool_calls"] = calls;
  return [made];
}

function joined(parts: readonly Loose[], type: string): string {
  return parts
    .filter((part) => part["type"] === type)
    .map((part) => String(part["text"] ?? ""))
    .join("");
}

/** The bytes of a file are not recorded: a picture would be megabytes of numbers. */
function partOf(part: Loose): Loose {
  if (part["type"] === "text") return { type: "text", text: part["text"] };
  const { mediaType, filename, data } = part;
  const url = data instanceof URL ? data.href : undefined;
  return { type: "file", file: { media_type: mediaType, filename, url } };
}

function callOf(part: Loose): Loose {
  const { toolCallId: id, toolName: name, input } = part;
  return {
    id,
    type: "function",
    function: { name, arguments: typeof input === "string" ? input : (toJson(input) ?? "{}") },
  };
}

function resultOf(part: Loose): Loose {
  const { toolCallId, output } = part;
  const value = isObject(output) && "value" in output ? output["value"] : output;
  return {
    role: "tool",
    tool_call_id: toolCallId,
    content: typeof value === "string" ? value : (toJson(value) ?? ""),
  };
}
