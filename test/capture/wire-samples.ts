/**
 * Answers as vLLM sends them.
 *
 * @module
 */

/** A chat completion with one choice for each message. */
export function chat(...messages: object[]): object {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "toy",
    prompt_token_ids: [1, 2, 3],
    choices: messages.map((message, index) => ({
      index,
      message: { role: "assistant", content: null, ...message },
      finish_reason: "tool_calls" in message ? "tool_calls" : "stop",
      logprobs: { content: [logprob("a", -0.5), logprob("b", -0.25)] },
      token_ids: [10 + index, 20 + index],
    })),
    usage: {
      prompt_tokens: 3,
      completion_tokens: 2 * messages.length,
      total_tokens: 3 + 2 * messages.length,
    },
  };
}

/** An entry of `logprobs.content`. */
export function logprob(token: string, value: number): object {
  return { token, logprob: value, bytes: [...Buffer.from(token)], top_logprobs: [] };
}

/** A chunk of choice `index`. */
export function delta(piece: object, more: object = {}, index = 0): object {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "toy",
    choices: [{ index, delta: piece, finish_reason: null, ...more }],
  };
}

/** The chunk that `include_usage` adds. */
export function usageChunk(prompt: number, completion: number): object {
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "toy", choices: [], usage };
}

/** "Hello, you" in three chunks with token ids and log probabilities. */
export const HELLO: readonly object[] = [
  { ...delta({ role: "assistant", content: "" }), prompt_token_ids: [1, 2, 3] },
  delta({ content: "Hello" }, { token_ids: [11], logprobs: { content: [logprob("Hello", -0.5)] } }),
  delta(
    { content: ", you" },
    { token_ids: [12, 13], logprobs: { content: [logprob(",", -1), logprob(" you", -2)] } },
  ),
  delta({}, { finish_reason: "stop", token_ids: [14], logprobs: { content: [logprob("", -0.125)] } }),
];

/** Two tool calls whose pieces arrive by turns. */
export const PARALLEL_CALLS: readonly object[] = [
  delta({
    role: "assistant",
    tool_calls: [{ index: 0, id: "c0", type: "function", function: { name: "f", arguments: "" } }],
  }),
  delta({ tool_calls: [{ index: 1, id: "c1", type: "function", function: { name: "g", arguments: "" } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: '{"q"' } }] }),
  delta({ tool_calls: [{ index: 1, function: { arguments: '{"z"' } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
  delta({ tool_calls: [{ index: 1, function: { arguments: ":2}" } }] }),
  delta({}, { finish_reason: "tool_calls" }),
];

/** A whole answer of the responses endpoint. */
export function response(text: string, more: object = {}): object {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "toy",
    status: "completed",
    error: null,
    incomplete_details: null,
    output: [
      {
        id: "msg_1",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text, annotations: [] }],
      },
    ],
    usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    ...more,
  };
}

/** The events of a streamed response that says "Hello, you". */
export function responseEvents(): object[] {
  const item = { id: "msg_1", type: "message", role: "assistant", status: "in_progress", content: [] };
  const at = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const start = response("", { status: "in_progress", output: [], usage: null });
  const part = { type: "output_text", text: "", annotations: [] };
  const events: object[] = [
    { type: "response.created", response: start },
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.content_part.added", ...at, part },
    { type: "response.output_text.delta", ...at, delta: "Hello" },
    { type: "response.output_text.delta", ...at, delta: ", you" },
    { type: "response.output_text.done", ...at, text: "Hello, you" },
    { type: "response.completed", response: response("Hello, you") },
  ];
  return events.map((event, index) => ({ ...event, sequence_number: index }));
}
