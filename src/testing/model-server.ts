/**
 * A model server on loopback that answers like vLLM: real HTTP, real token ids, scripted content, faults on demand.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json, JsonObject } from "../protocol/json.ts";
import { answerOf, type ModelAnswer } from "./model-answer.ts";
import { chatFormat } from "./model-chat.ts";
import { completionFormat } from "./model-completions.ts";
import { embeddingsBody } from "./model-embeddings.ts";
import { type AnswerFormat, ENGINE_FAILURE, type Flavour, type FormatInput } from "./model-format.ts";
import { messageFormat, messagesFailure } from "./model-messages.ts";
import { messagesOf, promptIds, toolNames } from "./model-prompt.ts";
import {
  contextLengthReply,
  type ModelOperation,
  type ModelRequest,
  type Reply,
  type ReplyScript,
} from "./model-reply.ts";
import { responseFormat } from "./model-responses.ts";
import { createScript } from "./model-script.ts";
import { sendBody, sendStream, sendWhole } from "./model-sending.ts";
import { encode } from "./toy-tokenizer.ts";

/** Options of {@link serveModel}. */
export interface ModelServerOptions {
  /** What the model says; without it, it repeats the last message, calls a tool it must call, and fits a JSON schema. */
  reply?: ReplyScript;
  /** Key that requests must carry as `Authorization: Bearer` or `x-api-key`; none by default. */
  key?: string;
  /** Model names of `/v1/models`; `["toy"]` by default. Any model name is answered. */
  models?: readonly string[];
  /** Tokens a prompt may have; longer ones get a 400. No limit by default. */
  contextLength?: number;
  /**
   * `vllm` (the default): prompt ids beside the choices. `sglang`: prompt ids in each choice. `openai`: no token ids,
   * and a 400 for fields that OpenAI's API does not know.
   */
  flavour?: Flavour;
  /** Field of thinking text: `reasoning` (the default), or `reasoning_content` as older servers have it. */
  reasoningField?: "reasoning" | "reasoning_content";
  /** Varies the log probabilities; 0 by default. */
  seed?: number;
  /** Milliseconds since the epoch; `Date.now` by default. */
  now?: () => number;
  /** 0 (the default): any free port. */
  port?: number;
}

/** A request that came in. */
export interface RecordedRequest extends ModelRequest {
  method: string;
  /** Path and query. */
  path: string;
  /** The body as it was sent. */
  text: string;
  /** What was generated for it: ids, texts and log probabilities. Undefined when nothing was. */
  answer: ModelAnswer | undefined;
  /** Resolves when the answer is sent (`sent`), or when either side broke the connection first (`disconnected`). */
  readonly ended: Promise<"sent" | "disconnected">;
}

/** A running model server. */
export interface ModelServer {
  /** Base URL for an OpenAI client; ends in `/v1`. */
  readonly url: string;
  /** The same without `/v1`: the base URL for an Anthropic client. */
  readonly origin: string;
  /** Requests in the order in which they came; the list grows. */
  readonly requests: readonly RecordedRequest[];
  /** Resolves with request `index` (0: the first) when it has come. */
  request(index: number): Promise<RecordedRequest>;
  /** Breaks what is open and stops. */
  close(): Promise<void>;
}

const OPERATIONS: Record<string, ModelOperation> = {
  "POST /v1/chat/completions": "chat",
  "POST /v1/completions": "completion",
  "POST /v1/responses": "response",
  "POST /v1/messages": "message",
  "POST /v1/embeddings": "embedding",
  "GET /v1/models": "models",
};

const FORMATS: Partial<Record<ModelOperation, AnswerFormat>> = {
  chat: chatFormat,
  completion: completionFormat,
  response: responseFormat,
  message: messageFormat,
};

const DEFAULT_CHUNK_TOKENS = 4;

async function readText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}

function badRequest(operation: ModelOperation, message: string): Json {
  if (operation === "message") return messagesFailure("invalid_request_error", message);
  return { error: { message, type: "BadRequestError", param: null, code: 400 } };
}

function positive(...values: Array<Json | undefined>): number | undefined {
  return values.find((value): value is number => typeof value === "number" && value > 0);
}

/** Ids of a request's prompt. */
function promptOf(request: ModelRequest): number[] {
  const prompt = request.body["prompt"];
  if (request.operation !== "completion") return promptIds(request.messages, request.body["tools"]);
  return Array.isArray(prompt) ? prompt.map(Number) : encode(String(prompt ?? ""));
}

/**
 * Starts a model server on 127.0.0.1. It serves chat completions, completions, responses, embeddings and models as
 * OpenAI's API, and messages as Anthropic's.
 *
 * Token ids are those of {@link encode} and end with {@link END_ID} unless the answer was cut, so `decode` gives the
 * text back; `usage` counts exactly these ids. A script that throws is answered with a 500 that tells what it threw.
 *
 * @example
 * ```ts
 * import { serveModel } from "agentlightning/testing";
 * import OpenAI from "openai";
 * const server = await serveModel({ reply: [{ fault: { status: 503 } }, "Hello!"] });
 * const openai = new OpenAI({ baseURL: server.url, apiKey: "none" });
 * await openai.chat.completions.create({ model: "toy", messages: [{ role: "user", content: "Hi" }] });
 * server.requests.length; // 2: the first was answered with the fault
 * await server.close();
 * ```
 */
export async function serveModel(options: ModelServerOptions = {}): Promise<ModelServer> {
  const { flavour = "vllm", models = ["toy"], seed = 0, now = Date.now } = options;
  const script = createScript(options.reply);
  const requests: RecordedRequest[] = [];
  const watchers: Array<{ index: number; resolve: (request: RecordedRequest) => void }> = [];

  function record(incoming: IncomingMessage, outgoing: ServerResponse, text: string): RecordedRequest {
    const path = incoming.url ?? "/";
    const method = incoming.method ?? "GET";
    const operation = OPERATIONS[`${method} ${path.split("?")[0]}`] ?? "unknown";
    const body = parseObject(text) ?? {};
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
    );
    const recorded: RecordedRequest = {
      index: requests.length,
      operation,
      messages: messagesOf(operation, body),
      tools: toolNames(body),
      stream: body["stream"] === true,
      body,
      headers,
      method,
      path,
      text,
      answer: undefined,
      ended: new Promise((resolve) => {
        outgoing.once("close", () => resolve(outgoing.writableFinished ? "sent" : "disconnected"));
      }),
    };
    requests.push(recorded);
    for (const watcher of watchers) if (watcher.index === recorded.index) watcher.resolve(recorded);
    return recorded;
  }

  async function answer(request: RecordedRequest, outgoing: ServerResponse): Promise<void> {
    const { body, operation } = request;
    const { authorization = `Bearer ${request.headers["x-api-key"]}` } = request.headers;
    if (options.key !== undefined && authorization !== `Bearer ${options.key}`) {
      return sendBody(outgoing, 401, { error: "Unauthorized" });
    }
    if (operation === "unknown") return sendBody(outgoing, 404, { detail: "Not Found" });
    if (operation !== "models" && parseObject(request.text) === undefined) {
      return sendBody(outgoing, 400, badRequest(operation, "the body is not a JSON object"));
    }
    if (flavour === "openai" && "return_token_ids" in body) {
      const refused = badRequest(operation, "Unrecognized request argument supplied: return_token_ids");
      return sendBody(outgoing, 400, refused);
    }
    const prompt = promptOf(request);
    let reply: Reply = await script(request);
    if (prompt.length > (options.contextLength ?? Number.POSITIVE_INFINITY)) {
      reply = contextLengthReply(options.contextLength ?? 0, prompt.length);
    }
    const fault = reply.fault ?? {};
    if (fault.status !== undefined) return sendBody(outgoing, fault.status, fault.body ?? {}, fault);

    const model = typeof body["model"] === "string" ? body["model"] : models[0]!;
    const format = FORMATS[operation];
    if (format === undefined) {
      const listed = models.map((id) => ({ id, object: "model", created: 0, owned_by: "agentlightning" }));
      const found = operation === "models" ? { object: "list", data: listed } : embeddingsBody(body, model);
      return sendWhole(outgoing, found, fault, ENGINE_FAILURE);
    }
    const serial = request.index.toString(16).padStart(8, "0");
    request.answer = answerOf(reply, {
      promptIds: prompt,
      n: operation === "response" || operation === "message" ? 1 : (positive(body["n"]) ?? 1),
      maxTokens:
        positive(body["max_completion_tokens"], body["max_tokens"], body["max_output_tokens"]) ??
        Number.POSITIVE_INFINITY,
      topLogprobs: positive(body["top_logprobs"], body["logprobs"]) ?? 0,
      idPrefix: serial,
      seed,
    });
    const input: FormatInput = {
      serial,
      created: Math.floor(now() / 1000),
      model,
      body,
      answer: request.answer,
      fault,
      flavour,
      reasoningField: options.reasoningField ?? "reasoning",
      chunkTokens: reply.chunkTokens ?? DEFAULT_CHUNK_TOKENS,
    };
    if (request.stream) return sendStream(outgoing, format.frames(input), fault, format);
    return sendWhole(outgoing, format.whole(input), fault, format.failure);
  }

  const server = createServer((incoming, outgoing) => {
    readText(incoming)
      .then((text) => answer(record(incoming, outgoing, text), outgoing))
      .catch((error: unknown) => {
        // A script that throws is the test's fault: it must see why, not wait for an answer.
        if (outgoing.headersSent) outgoing.destroy();
        else sendBody(outgoing, 500, { error: { message: String(error), type: "ScriptError" } });
      });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/v1`,
    origin,
    requests,
    request(index) {
      const come = requests[index];
      return come !== undefined
        ? Promise.resolve(come)
        : new Promise((resolve) => watchers.push({ index, resolve }));
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
