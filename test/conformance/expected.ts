/**
 * What the Python adapters must make of a rollout, worked out from what the model server got and sent.
 *
 * @module
 */
import type { Json, JsonObject } from "../../src/protocol/json.ts";
import type { RecordedRequest } from "../../src/testing/index.ts";
import type { Triplet } from "./python-package.ts";

/** The parts of a triplet that are trained on. */
export interface Step {
  prompt: readonly number[];
  response: readonly number[];
  /** Token texts with their log probabilities; null where none were sent. */
  logprobs: [string, number][] | null;
  reward: number | null;
  agent: string;
  id: string | null;
}

function answerOf(request: RecordedRequest) {
  if (request.answer === undefined) throw new Error(`request ${request.index} has no answer`);
  return request.answer;
}

/** The step that a model call is, by what the server sent. */
export function stepOf(request: RecordedRequest, reward: number | null, agent = "*"): Step {
  const answer = answerOf(request);
  const choice = answer.choices[0];
  if (choice === undefined) throw new Error("an answer without choices");
  return {
    prompt: answer.promptIds,
    response: choice.ids,
    logprobs: choice.logprobs.map(({ token, logprob }) => [token, logprob]),
    reward,
    agent,
    id: `chatcmpl-${request.index.toString(16).padStart(8, "0")}`,
  };
}

/** The same parts of a triplet that Python has made. */
export function stepOfTriplet(triplet: Triplet): Step {
  const logprobs = triplet.response.logprobs as { token: string; logprob: number }[] | undefined;
  return {
    prompt: triplet.prompt.token_ids,
    response: triplet.response.token_ids,
    logprobs: logprobs?.map(({ token, logprob }) => [token, logprob]) ?? null,
    reward: triplet.reward,
    agent: triplet.metadata.agent_name,
    id: triplet.metadata.response_id,
  };
}

interface Call {
  id: string;
  name: string;
  arguments: string;
}

const toolCalls = (calls: readonly Call[]): Json =>
  calls.map(({ id, name, arguments: args }) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  }));

function promptMessage(message: JsonObject): JsonObject {
  const calls = message["tool_calls"] as
    | { id: string; function: { name: string; arguments: string } }[]
    | undefined;
  if (calls !== undefined) {
    const flat = calls.map((call) => ({ id: call.id, ...call.function }));
    return { role: "assistant", content: null, tool_calls: toolCalls(flat) };
  }
  const { role, content, tool_call_id: answers } = message;
  return {
    role: role as Json,
    content: content as Json,
    ...(role === "tool" ? { tool_call_id: answers as Json } : {}),
  };
}

/** The fine-tuning sample that a model call is: what was asked and offered, and every choice that came back. */
export function messagesOf(request: RecordedRequest): { messages: JsonObject[]; tools: JsonObject[] | null } {
  const { messages, tools } = request.body as { messages: JsonObject[]; tools?: { function: JsonObject }[] };
  return {
    messages: [
      ...messages.map(promptMessage),
      ...answerOf(request).choices.map((choice) => ({
        role: "assistant",
        // A stream opens with an empty text; a whole answer without text has none.
        content: choice.content ?? (request.stream ? "" : null),
        ...(choice.calls.length > 0 ? { tool_calls: toolCalls(choice.calls) } : {}),
      })),
    ],
    tools:
      tools?.map(({ function: { name, description, parameters } }) => ({
        type: "function",
        function: { name, description: description ?? "", parameters } as JsonObject,
      })) ?? null,
  };
}
