/**
 * Reads text completions (the old `/completions` endpoint), whole and chunk by chunk: both have the same shape.
 *
 * @module
 */
import { type Answer, append, type Choice, choiceAt, readHead } from "./answer.ts";
import { readChoiceIds } from "./chat-answer.ts";
import { copyJson, isObject, type Loose } from "./shape.ts";

/** Reads a `text_completion`, or a piece of it. */
export function readCompletion(answer: Answer, value: Loose): void {
  readHead(answer, value);
  const choices = value["choices"];
  if (!Array.isArray(choices)) return;
  for (let i = 0; i < choices.length; i++) {
    const raw: unknown = choices[i];
    if (!isObject(raw)) continue;
    const choice = choiceAt(answer, typeof raw["index"] === "number" ? raw["index"] : i);
    choice.role = "assistant";
    choice.content = append(choice.content, raw["text"]);
    if (typeof raw["finish_reason"] === "string") choice.finishReason = raw["finish_reason"];
    if (isObject(raw["logprobs"])) readLogprobs(choice, raw["logprobs"]);
    readChoiceIds(answer, choice, raw);
  }
}

/** This endpoint has parallel lists; they are turned into the entries that chat completions have. */
function readLogprobs(choice: Choice, logprobs: Loose): void {
  const { tokens, token_logprobs: values, top_logprobs: tops } = logprobs;
  if (!Array.isArray(tokens) || !Array.isArray(values)) return;
  choice.logprobs ??= [];
  for (let i = 0; i < tokens.length; i++) {
    const top: unknown = Array.isArray(tops) ? tops[i] : undefined;
    choice.logprobs.push({
      token: tokens[i],
      logprob: values[i] ?? null,
      bytes: null,
      top_logprobs: isObject(top)
        ? Object.entries(copyJson(top) as Loose).map(([token, logprob]) => ({ token, logprob, bytes: null }))
        : [],
    });
  }
}
