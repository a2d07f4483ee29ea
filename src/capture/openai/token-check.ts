/**
 * Whether the token ids of an answer add up. Servers leave some out, for example of tool calls that are streamed
 * through a parser; training on such a call would teach the model a text that it did not write.
 *
 * @module
 */
import type { Answer } from "./answer.ts";

/** Why the token ids must not be trained on; undefined when they add up, or when there are none. */
export function tokenMismatch(answer: Answer): string | undefined {
  const { usage, promptTokenIds, choices } = answer;
  let ids = 0;
  let withIds = 0;
  for (const [index, choice] of choices) {
    if (choice.tokenIds === undefined) continue;
    withIds++;
    ids += choice.tokenIds.length;
    const logprobs = (choice.logprobs?.length ?? 0) + (choice.refusalLogprobs?.length ?? 0);
    if (logprobs > 0 && logprobs !== choice.tokenIds.length) {
      return `choice ${index} has ${choice.tokenIds.length} token ids and ${logprobs} log probabilities`;
    }
  }
  if (withIds > 0 && withIds < choices.size) return `${withIds} of ${choices.size} choices have token ids`;
  if (withIds > 0 && usage?.output !== undefined && usage.output !== ids) {
    return `${ids} response token ids, but usage reports ${usage.output}`;
  }
  if (promptTokenIds !== undefined && usage?.input !== undefined && usage.input !== promptTokenIds.length) {
    return `${promptTokenIds.length} prompt token ids, but usage reports ${usage.input}`;
  }
  return undefined;
}
