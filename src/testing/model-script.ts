/**
 * Turns what a test gave as `reply` into one function, and holds the answers for tests that gave none.
 *
 * @module
 */
import { asList, asObject } from "./model-prompt.ts";
import type { ModelRequest, Reply, ReplyScript } from "./model-reply.ts";
import { sampleJson } from "./sample-json.ts";

/** Arguments that fit the schema of the tool `name`, in any API's form of a tool. */
function sampleArguments(request: ModelRequest, name: string) {
  for (const tool of asList(request.body["tools"]).map(asObject)) {
    const fn = tool["function"] === undefined ? tool : asObject(tool["function"]);
    if (fn["name"] === name) return sampleJson(fn["parameters"] ?? fn["input_schema"]);
  }
  return {};
}

/** The tool that the request insists on. */
function forcedTool(request: ModelRequest): string | undefined {
  const choice = request.body["tool_choice"];
  if (choice === "required") return request.tools[0];
  const named = asObject(choice);
  if (named["type"] === "any") return request.tools[0];
  const name = asObject(named["function"])["name"] ?? named["name"];
  return typeof name === "string" ? name : undefined;
}

/** Schema of a structured answer, in any API's place. */
function answerSchema(request: ModelRequest) {
  const chat = asObject(request.body["response_format"]);
  const text = asObject(asObject(request.body["text"] ?? request.body["output_config"])["format"]);
  if (chat["type"] === "json_schema") return asObject(chat["json_schema"])["schema"];
  return text["type"] === "json_schema" ? text["schema"] : undefined;
}

/** The answer to a request that nobody scripted. */
export function defaultReply(request: ModelRequest): Reply {
  const tool = forcedTool(request);
  if (tool !== undefined) return { toolCalls: [{ name: tool, arguments: sampleArguments(request, tool) }] };
  const schema = answerSchema(request);
  if (schema !== undefined) return { content: JSON.stringify(sampleJson(schema)) };
  return { content: `You said: ${request.messages.at(-1)?.content ?? ""}` };
}

/** One function from any kind of script. A list is used up in the order in which requests come. */
export function createScript(script: ReplyScript | undefined): (request: ModelRequest) => Promise<Reply> {
  let used = 0;
  const next = (request: ModelRequest) => {
    if (typeof script === "function") return script(request);
    if (Array.isArray(script)) return (script as ReadonlyArray<Reply | string>)[used++];
    return script as Reply | string | undefined;
  };
  return async (request) => {
    const reply = await next(request);
    if (reply === undefined) return defaultReply(request);
    return typeof reply === "string" ? { content: reply } : reply;
  };
}
