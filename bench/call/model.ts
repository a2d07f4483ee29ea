/**
 * A model without a network: requests of several sizes, and a `fetch` that answers them from bytes made beforehand.
 *
 * @module
 */

/** A message of a conversation. */
export interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

const WORDS =
  "the planner writes one step for each part of the task and the solver works them out in order ".split(" ");

/** About `length` characters of prose, different for each `seed`. */
export function prose(length: number, seed = 0): string {
  let text = `${seed}:`;
  for (let i = seed; text.length < length; i++) text += ` ${WORDS[(i * 7) % WORDS.length]}`;
  return text.slice(0, length);
}

/** A conversation of `count` messages with `length` characters each. */
export function conversation(count: number, length: number): Message[] {
  return Array.from({ length: count }, (_, i) => ({
    role: i === 0 ? "system" : i % 2 === 1 ? "user" : "assistant",
    content: prose(length, i),
  }));
}

const HEAD = { id: "chatcmpl-8f2c6e1d40b7", created: 1_780_000_000, model: "qwen2.5-7b-instruct" };
const USAGE = { prompt_tokens: 412, completion_tokens: 96, total_tokens: 508 };

/** What a server adds that was asked for token ids and log probabilities. */
function tokens() {
  const ids = (count: number) => Array.from({ length: count }, (_, i) => (i * 7_919) % 151_000);
  const content = ids(USAGE.completion_tokens).map((id, i) => {
    const token = ` ${WORDS[i % WORDS.length]}`;
    return {
      token,
      logprob: -(id % 977) / 1_000,
      bytes: [...new TextEncoder().encode(token)],
      top_logprobs: [],
    };
  });
  return {
    prompt_token_ids: ids(USAGE.prompt_tokens),
    token_ids: ids(USAGE.completion_tokens),
    logprobs: { content, refusal: null },
  };
}

const DECODER = new TextDecoder();

/** A response as a class to build on: its own types have its methods as fields, which no subclass may override. */
const BareResponse = Response as unknown as new (body: null, init: ResponseInit) => object;

/**
 * A response whose body was made beforehand, in `pieces` that arrive one by one. The body of an ordinary one made in
 * the process costs more than the whole call of the client around it, and hides in its noise what is measured here.
 */
class PreparedResponse extends BareResponse {
  readonly #pieces: readonly Uint8Array[];

  constructor(pieces: readonly Uint8Array[], headers: Headers) {
    super(null, { headers });
    this.#pieces = pieces;
  }

  async text(): Promise<string> {
    return DECODER.decode(this.#pieces[0]);
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  get body(): ReadableStream<Uint8Array> {
    const pieces = this.#pieces.values();
    return new ReadableStream(
      {
        // As undici's: the engine's code for streams is slower in a process that has met both kinds.
        type: "bytes",
        pull(controller) {
          const { value, done } = pieces.next();
          if (done === true) controller.close();
          // A stream of bytes takes the memory away from whoever gives it.
          else controller.enqueue(value.slice());
        },
      },
      { highWaterMark: 0 },
    );
  }
}

function fetchOf(texts: readonly string[], contentType: string): typeof fetch {
  const encoder = new TextEncoder();
  const pieces = texts.map((text) => encoder.encode(text));
  const headers = new Headers({ "content-type": contentType });
  return async () => new PreparedResponse(pieces, headers) as unknown as Response;
}

/** Answers every request with one whole chat completion; as asked in a training rollout, `withTokens`. */
export function answering(withTokens = false): typeof fetch {
  const { prompt_token_ids, token_ids, logprobs } = tokens();
  const answer = {
    ...HEAD,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: prose(700), refusal: null },
        logprobs: withTokens ? logprobs : null,
        finish_reason: "stop",
        ...(withTokens ? { token_ids } : {}),
      },
    ],
    usage: USAGE,
    ...(withTokens ? { prompt_token_ids } : {}),
  };
  return fetchOf([JSON.stringify(answer)], "application/json");
}

/**
 * Answers every request with a stream of `chunks` pieces of text, then the usage. Each event arrives alone, as from a
 * server that sends a token when it has it; in one piece, the client would copy what is left of it for every event.
 */
export function streaming(chunks: number): typeof fetch {
  const event = (choices: unknown[], usage: unknown = null) =>
    `data: ${JSON.stringify({ ...HEAD, object: "chat.completion.chunk", choices, usage })}\n\n`;
  const piece = (delta: unknown, finish: string | null = null) =>
    event([{ index: 0, delta, logprobs: null, finish_reason: finish }]);
  const words = Array.from({ length: chunks }, (_, i) => piece({ content: ` ${WORDS[i % WORDS.length]}` }));
  const first = piece({ role: "assistant", content: "" });
  const last = [piece({}, "stop"), event([], USAGE), "data: [DONE]\n\n"];
  return fetchOf([first, ...words, ...last], "text/event-stream");
}
