/**
 * Reads what an AI SDK model gives: the content of a whole answer, or the parts of a streamed one. Versions 2, 3 and 4
 * of the specification differ in usage and finish reason only.
 *
 * @module
 */
import { type Answer, append, choiceAt, toolCallAt, type Usage } from "../openai/answer.ts";
import { isObject, type Loose, toJson } from "../openai/shape.ts";

/** Reads the result of `doGenerate`. */
export function readSpecResult(answer: Answer, result: Loose): void {
  const { content, response } = result;
  if (isObject(response)) readHead(answer, response);
  if (Array.isArray(content)) for (const part of content) if (isObject(part)) readSpecPart(answer, part);
  readEnd(answer, result);
}

/** Reads the result of `doEmbed`. */
export function readSpecEmbeddings(answer: Answer, result: Loose): void {
  const { embeddings, usage } = result;
  if (Array.isArray(embeddings)) answer.embeddings = embeddings.length;
  if (isObject(usage)) answer.usage = { ...NO_USAGE, input: count(usage["tokens"]) };
}

/** Reads a part of the stream of `doStream`, or of the content of `doGenerate`. */
export function readSpecPart(answer: Answer, part: Loose): void {
  const choice = choiceAt(answer, 0);
  switch (part["type"]) {
    case "response-metadata":
      readHead(answer, part);
      return;
    case "text":
    case "text-delta":
      choice.content = append(choice.content, part["text"] ?? part["delta"]);
      return;
    case "reasoning":
    case "reasoning-delta":
      choice.reasoning = append(choice.reasoning, part["text"] ?? part["delta"]);
      return;
    case "tool-call": {
      const call = toolCallAt(choice, choice.toolCalls.size);
      const { toolCallId, toolName, input } = part;
      call.id = typeof toolCallId === "string" ? toolCallId : undefined;
      call.name = String(toolName);
      call.arguments = typeof input === "string" ? input : (toJson(input) ?? "");
      return;
    }
    case "finish":
      readEnd(answer, part);
  }
}

function readHead(answer: Answer, { id, modelId }: Loose): void {
  if (typeof id === "string") answer.id ??= id;
  if (typeof modelId === "string") answer.model ??= modelId;
}

function readEnd(answer: Answer, { finishReason, usage }: Loose): void {
  const reason = isObject(finishReason) ? finishReason["unified"] : finishReason;
  // The names of OpenAI's API, which readers of spans know.
  if (typeof reason === "string") choiceAt(answer, 0).finishReason = reason.replaceAll("-", "_");
  if (isObject(usage)) answer.usage = readUsage(usage);
}

const NO_USAGE: Usage = {
  input: undefined,
  output: undefined,
  total: undefined,
  cached: undefined,
  reasoning: undefined,
};

function readUsage(usage: Loose): Usage {
  const { inputTokens: input, outputTokens: output } = usage;
  return {
    input: count(isObject(input) ? input["total"] : input),
    output: count(isObject(output) ? output["total"] : output),
    total: count(usage["totalTokens"]),
    cached: count(isObject(input) ? input["cacheRead"] : usage["cachedInputTokens"]),
    reasoning: count(isObject(output) ? output["reasoning"] : usage["reasoningTokens"]),
  };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
