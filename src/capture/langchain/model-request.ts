/**
 * What LangChain tells of a model call's request, in the words of OpenAI's API, which the attribute writers read.
 *
 * @module
 */
import { isObject, type Loose, toJson } from "../openai/shape.ts";

/** What `handleChatModelStart` and `handleLLMStart` tell. */
export interface ModelStart {
  /** The model as LangChain serialises it. */
  readonly llm: unknown;
  /** Messages, or the prompt's text. */
  readonly prompt: unknown;
  readonly extra: unknown;
  readonly metadata: unknown;
}

/** Parameters that are written; any other could be a credential. */
const PARAMETERS: Readonly<Record<string, string>> = {
  temperature: "temperature",
  top_p: "top_p",
  topP: "top_p",
  top_k: "top_k",
  topK: "top_k",
  max_tokens: "max_tokens",
  maxTokens: "max_tokens",
  max_completion_tokens: "max_completion_tokens",
  maxOutputTokens: "max_tokens",
  stop: "stop",
  seed: "seed",
  n: "n",
  frequency_penalty: "frequency_penalty",
  presence_penalty: "presence_penalty",
  tools: "tools",
  tool_choice: "tool_choice",
  response_format: "response_format",
};

const ROLES: Readonly<Record<string, string>> = {
  human: "user",
  ai: "assistant",
  system: "system",
  developer: "developer",
  tool: "tool",
  function: "function",
};

/** The request as a chat completion's body. */
export function requestBody({ llm, prompt, extra, metadata }: ModelStart): Loose {
  const body: Loose = {};
  const given = isObject(extra) && isObject(extra["invocation_params"]) ? extra["invocation_params"] : {};
  for (const name of Object.keys(PARAMETERS)) {
    const value = given[name];
    if (value !== undefined && value !== null) body[PARAMETERS[name] as string] ??= value;
  }
  const model =
    given["model"] ?? given["model_name"] ?? given["modelName"] ?? field(metadata, "ls_model_name");
  body["model"] = typeof model === "string" && model !== "" ? model : className(llm);
  body["messages"] = Array.isArray(prompt) ? prompt.map(asMessage) : [{ role: "user", content: prompt }];
  return body;
}

/** The provider in the words of OpenTelemetry's conventions. */
export function providerOf({ metadata }: ModelStart): string | undefined {
  const provider = field(metadata, "ls_provider");
  return typeof provider === "string" && provider !== "" ? provider : undefined;
}

/** Name of the class of something that LangChain serialises. */
export function className(serialized: unknown): string | undefined {
  const id = field(serialized, "id");
  const name: unknown = Array.isArray(id) ? id.at(-1) : undefined;
  return typeof name === "string" ? name : undefined;
}

/** `value[name]`, of anything. */
export function field(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** The kind of a LangChain message; `getType` is missing in old versions. */
function typeOf(message: Loose): string {
  const method = message["getType"] ?? message["_getType"];
  const type: unknown = typeof method === "function" ? method.call(message) : message["type"];
  return typeof type === "string" ? type : "generic";
}

function asMessage(message: unknown): Loose {
  if (!isObject(message)) return { role: "user", content: message };
  const role = ROLES[typeOf(message)] ?? message["role"] ?? "user";
  const own: Loose = { role, content: message["content"] };
  if (typeof message["name"] === "string") own["name"] = message["name"];
  if (typeof message["tool_call_id"] === "string") own["tool_call_id"] = message["tool_call_id"];
  const calls = message["tool_calls"];
  if (Array.isArray(calls) && calls.length > 0) {
    own["tool_calls"] = calls.filter(isObject).map((call) => ({
      id: call["id"],
      type: "function",
      function: { name: call["name"], arguments: toJson(call["args"]) ?? "{}" },
    }));
  }
  return own;
}
