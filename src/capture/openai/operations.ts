/**
 * The methods of an OpenAI client that are captured, and how the request and the answer of each are read.
 *
 * @module
 */
import type { Attributes } from "../../protocol/json.ts";
import { SpanName } from "../../protocol/semconv.ts";
import type { SpanStart } from "../../trace/open-span.ts";
import type { Answer } from "./answer.ts";
import { readChatChunk, readChatCompletion } from "./chat-answer.ts";
import { readCompletion } from "./completion-answer.ts";
import { readEmbeddings } from "./embedding-answer.ts";
import { chatRequest, completionRequest, embeddingRequest, responsesRequest } from "./request-attributes.ts";
import { readResponse, readResponseEvent } from "./responses-answer.ts";
import type { Loose } from "./shape.ts";

/** What sets the clients of another vendor than OpenAI apart. */
export interface Vendor {
  /** `gen_ai.provider.name` where the host has no name of its own; first word of attributes that only this vendor has. */
  readonly name: string;
  /** Field of the SDK's errors that holds what the server calls the error. */
  readonly errorCode: "code" | "type";
  /** Field of a request's body by which the body is known when it is sent, where the SDK sends a copy of it. */
  readonly bodyKey?: string;
  /** True when the SDK makes OpenTelemetry spans of its own. */
  readonly ownSpans?: boolean;
}

/** One endpoint. */
export interface Operation {
  /** OpenAI where it is left out. */
  readonly vendor?: Vendor;
  /** Where the resource with the method `create` hangs on the client. */
  readonly path: readonly string[];
  /** `gen_ai.operation.name`. */
  readonly name: string;
  readonly span: SpanStart;
  /** Attributes of the request's body. */
  readonly request: (body: Loose) => Attributes;
  /** Reads a whole answer. */
  readonly whole: (answer: Answer, value: Loose) => void;
  /** Reads a chunk of a streamed answer. */
  readonly chunk: (answer: Answer, value: Loose) => void;
  /** True when what is sent can be known as what `create` was given (embeddings are sent as a copy). */
  readonly keepsBody: boolean;
  /** What asks this endpoint for log probabilities; undefined where token ids cannot be asked for. */
  readonly logprobs?: true | 1;
}

/** How the span of a model call starts. */
export const modelCall: SpanStart = { name: SpanName.ModelCall, client: true };
const embedding: SpanStart = { name: SpanName.Embedding, client: true };
const responses = {
  name: "chat",
  span: modelCall,
  request: responsesRequest,
  whole: readResponse,
  chunk: readResponseEvent,
  keepsBody: true,
};

/** Every captured endpoint. The helpers (`parse`, `stream`, `runTools`) all call one of these. */
export const OPERATIONS: readonly Operation[] = [
  {
    path: ["chat", "completions"],
    name: "chat",
    span: modelCall,
    request: chatRequest,
    whole: readChatCompletion,
    chunk: readChatChunk,
    keepsBody: true,
    logprobs: true,
  },
  {
    path: ["completions"],
    name: "text_completion",
    span: modelCall,
    request: completionRequest,
    whole: readCompletion,
    chunk: readCompletion,
    keepsBody: true,
    logprobs: 1,
  },
  { path: ["responses"], ...responses },
  { path: ["beta", "responses"], ...responses },
  {
    path: ["embeddings"],
    name: "embeddings",
    span: embedding,
    request: embeddingRequest,
    whole: readEmbeddings,
    chunk: readEmbeddings,
    keepsBody: false,
  },
];
