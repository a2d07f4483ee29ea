/**
 * What a test can tell the model server to say, and what can go wrong on the way.
 *
 * @module
 */
import type { Json, JsonObject } from "../protocol/json.ts";

/** A tool call of the model. */
export interface ToolCallReply {
  name: string;
  /** A value to be written as JSON, or the exact string. `{}` by default. */
  arguments?: Json;
  /** Made by the server when missing. */
  id?: string;
}

/** One choice of an answer. */
export interface ChoiceReply {
  content?: string | null;
  /** Thinking text, kept apart from the content as vLLM's reasoning parsers do. */
  reasoning?: string;
  refusal?: string;
  toolCalls?: readonly ToolCallReply[];
  /** By default `tool_calls` with calls, `length` when the token limit cut it, else `stop`; in each API's own words. */
  finishReason?: string;
}

/** An answer of the model. */
export interface Reply extends ChoiceReply {
  /** The choices, when they differ; with fewer than the request's `n` the last one repeats. */
  choices?: readonly ChoiceReply[];
  /** Token ids per chunk of a stream; 4 by default. */
  chunkTokens?: number;
  fault?: Fault;
}

/** What goes wrong with one answer. */
export interface Fault {
  /** Answers with this status, and `body`, in place of the model's answer. */
  status?: number;
  /** A string is sent as `text/plain`, anything else as JSON. */
  body?: Json;
  /** Added to the answer's headers. */
  headers?: Readonly<Record<string, string>>;
  /** Value of `Retry-After`: seconds or an HTTP date. */
  retryAfter?: number | string;
  /**
   * Breaks the answer, after `after` chunks of a stream (0: before its headers). `reset` breaks the connection; `hang`
   * sends nothing more; `end` closes in good order without the rest; `malformed` sends a line that is not JSON and goes on;
   * `error` sends an error object as a chunk and ends. A whole answer with `after` above 0 is cut in its middle; with 0,
   * `malformed` sends half a JSON text, `error` a 500, and `end` is a `reset`.
   */
  cut?: { after: number; how: "reset" | "hang" | "end" | "malformed" | "error" };
  /** Awaited before each chunk of a stream, and before a whole answer (chunk 0). */
  gate?: (chunk: number) => Promise<void> | undefined;
  /** These texts are sent in place of the stream's chunks, each as one `data:` line. */
  rawChunks?: readonly string[];
  /** Sends a chunk with no choices first, as Azure's content filter does. */
  emptyFirstChunk?: boolean;
  /** Leaves the token ids out although they were asked for. */
  omitTokenIds?: boolean;
  /** Leaves the ids of tool calls out of a stream, as some vLLM tool parsers do. */
  swallowToolTokens?: boolean;
  /** Leaves the usage out. */
  omitUsage?: boolean;
  /** Added to the completion tokens that `usage` tells, so that ids and usage differ. */
  usageOffset?: number;
  /** Log probabilities that are missing at the end of each choice. */
  dropLogprobs?: number;
}

/** Endpoint of a request. */
export type ModelOperation =
  | "chat"
  | "completion"
  | "response"
  | "message"
  | "embedding"
  | "models"
  | "unknown";

/** A message of the conversation, whichever endpoint it came by. */
export interface ModelMessage {
  role: string;
  /** The text; parts are joined, media appear as `<|media|>`. */
  content: string;
  /** Tool calls of an assistant's message. */
  toolCalls: ReadonlyArray<{ name: string; arguments: string }>;
}

/** A request as the model sees it. */
export interface ModelRequest {
  /** 0 for the first request of the server. */
  index: number;
  operation: ModelOperation;
  /** The conversation; a completion's prompt is one message of the user. */
  messages: readonly ModelMessage[];
  /** Names of the tools offered. */
  tools: readonly string[];
  stream: boolean;
  /** The parsed body; empty when it was no JSON object. */
  body: JsonObject;
  /** Header names in lower case. */
  headers: Readonly<Record<string, string>>;
}

/** Makes the answers: a function, a list that is used up in order (the default answers follow it), or one for all. */
export type ReplyScript =
  | ((request: ModelRequest) => Reply | string | undefined | Promise<Reply | string | undefined>)
  | ReadonlyArray<Reply | string>
  | Reply
  | string;

/** The 400 of a vLLM server for a prompt that is too long. */
export function contextLengthReply(limit: number, asked: number): Reply {
  return {
    fault: {
      status: 400,
      body: {
        error: {
          message: `This model's maximum context length is ${limit} tokens; the request has ${asked}.`,
          type: "BadRequestError",
          param: "input_tokens",
          code: 400,
        },
      },
    },
  };
}
