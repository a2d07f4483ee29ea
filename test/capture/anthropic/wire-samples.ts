/**
 * What Anthropic's API sends.
 *
 * @module
 */

/** Usage of a request whose prompt was partly in the cache. */
export const USAGE = {
  input_tokens: 3,
  cache_creation_input_tokens: 10,
  cache_read_input_tokens: 100,
  output_tokens: 2,
  service_tier: "standard",
};

/** A whole message. */
export function message(content: readonly object[], more: object = {}): object {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-test",
    content,
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: USAGE,
    ...more,
  };
}

export const text = (said: string): object => ({ type: "text", text: said });
export const toolUse = (id: string, input: object, name = "add"): object => ({
  type: "tool_use",
  id,
  name,
  input,
});

/** An event as it stands in a stream. */
export function event(data: { type: string; [field: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** The events of one block: its opening, its deltas, its end. */
export function block(index: number, opening: object, deltas: readonly object[]): string[] {
  return [
    event({ type: "content_block_start", index, content_block: opening }),
    ...deltas.map((delta) => event({ type: "content_block_delta", index, delta })),
    event({ type: "content_block_stop", index }),
  ];
}

/** A text as a block that arrives in pieces. */
export const textBlock = (index: number, ...pieces: string[]): string[] =>
  block(
    index,
    { type: "text", text: "" },
    pieces.map((piece) => ({ type: "text_delta", text: piece })),
  );

/** A tool call as a block whose arguments arrive in pieces. */
export const toolBlock = (index: number, id: string, ...pieces: string[]): string[] =>
  block(
    index,
    toolUse(id, {}),
    pieces.map((piece) => ({ type: "input_json_delta", partial_json: piece })),
  );

/** The opening of a message. */
export const START: readonly string[] = [
  event({
    type: "message_start",
    message: message([], { stop_reason: null, usage: { ...USAGE, output_tokens: 1 } }),
  }),
  event({ type: "ping" }),
];

/** The end of a message. */
export const end = (reason: string, more: object = {}): string[] => [
  event({
    type: "message_delta",
    delta: { stop_reason: reason, stop_sequence: null },
    usage: { output_tokens: 2 },
    ...more,
  }),
  event({ type: "message_stop" }),
];

/** A stream that says "Hello". */
export const HELLO: readonly string[] = [...START, ...textBlock(0, "Hel", "lo"), ...end("end_turn")];
