/**
 * One call of a model as a span. What went over the wire is recorded where it is OpenAI's protocol, since token ids are
 * nowhere else; what the model gave to the SDK is recorded otherwise.
 *
 * @module
 */
import { SpanName } from "../../protocol/semconv.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { startSpan } from "../../trace/recorder.ts";
import { currentScope, withScope } from "../../trace/scope.ts";
import { type CallStart, type ModelCall, openCall } from "../openai/call.ts";
import { OPERATIONS, type Operation } from "../openai/operations.ts";
import { chatRequest, embeddingRequest } from "../openai/request-attributes.ts";
import { isObject, type Loose, objectAt, toJson } from "../openai/shape.ts";
import { askForTokens, isHosted } from "../openai/token-request.ts";
import { type Discretion, discreet } from "./discretion.ts";
import type { ModelKind } from "./kinds.ts";
import { readSpecEmbeddings, readSpecPart, readSpecResult } from "./spec-answer.ts";
import { specBody } from "./spec-request.ts";
import { type StepWatch, stepWatchOf } from "./stream-operation.ts";
import { tapped } from "./tapped-stream.ts";
import { listenToWire } from "./wire.ts";

/** A call of a model that is about to be made. */
export interface ModelCallStart {
  kind: ModelKind;
  /** The call's options: prompt, tools, settings, `abortSignal`. */
  params: Loose;
  modelId: unknown;
  tokenIds: "auto" | boolean;
  /** Name of the agent, when it is not the scope's. */
  agent?: string | undefined;
  discretion?: Discretion;
}

const SPEC = {
  path: [],
  name: "chat",
  span: { name: SpanName.ModelCall, client: true },
  request: chatRequest,
  whole: readSpecResult,
  chunk: readSpecPart,
  keepsBody: true,
} satisfies Operation;

const OPERATION: Readonly<Record<ModelKind, Operation>> = {
  language: SPEC,
  embedding: {
    ...SPEC,
    name: "embeddings",
    span: { name: SpanName.Embedding, client: true },
    request: embeddingRequest,
    whole: readSpecEmbeddings,
  },
  reranking: {
    ...SPEC,
    name: "rerank",
    span: { name: "rerank", client: true },
    request: embeddingRequest,
    whole() {},
  },
};

/** Runs `execute`, which asks the model, and records the call. The caller gets what `execute` gives. */
export function callModel(start: ModelCallStart, execute: () => unknown): unknown {
  const operation = OPERATION[start.kind];
  const span = startSpan(
    start.agent === undefined ? operation.span : { ...operation.span, agent: start.agent },
  );
  if (span === undefined) return execute();
  const recording = new Recording(span, operation, start);
  let result: unknown;
  try {
    result = withScope({ span, suppressed: true }, execute);
  } catch (error) {
    recording.failed(error);
    throw error;
  }
  if (!(result instanceof Promise)) return recording.arrived(result);
  return result.then(
    (value) => recording.arrived(value),
    (error) => {
      recording.failed(error);
      throw error;
    },
  );
}

class Recording {
  readonly #start: ModelCallStart;
  readonly #span: OpenSpan;
  readonly #call: ModelCall;
  readonly #opened: CallStart;
  #asked: Operation;
  #answered: Operation;
  #streamed = false;
  #error: { error: unknown } | undefined = undefined;
  readonly #watch: StepWatch | undefined = stepWatchOf(currentScope()?.span);
  #callsTools = false;
  #hideUsage = false;

  constructor(span: OpenSpan, operation: Operation, start: ModelCallStart) {
    this.#start = start;
    this.#span = span;
    this.#opened = {
      span,
      operation,
      body: { model: start.modelId },
      options: { signal: start.params["abortSignal"] },
      baseURL: undefined,
      hideUsage: false,
    };
    this.#asked = operation;
    this.#answered = operation;
    this.#use(operation, operation);
    this.#call = openCall(this.#opened);
    listenToWire(span, {
      request: (url, body) => this.#request(url, body),
      event: (value) => this.#event(value),
    });
  }

  failed(error: unknown): void {
    try {
      this.#describe();
      const status = isObject(error) ? error["statusCode"] : undefined;
      if (typeof status === "number") this.#span.setAttribute("http.response.status_code", status);
    } finally {
      this.#call.failed(error);
      this.#watch?.failed(error);
    }
  }

  /** Takes what the model gave; gives what the caller gets. */
  arrived(result: unknown): unknown {
    try {
      if (!isObject(result)) return result;
      this.#describe();
      const { stream } = result;
      if (stream instanceof ReadableStream) {
        return { ...result, stream: tapped(stream, this.#streamListener()) };
      }
      const body = objectAt(result, ["response", "body"]);
      const wire = body === undefined ? undefined : operationOf(body);
      if (wire !== undefined) this.#use(this.#asked, wire);
      this.#call.answered(wire === undefined ? result : body);
    } catch {
      this.#call.finished();
    }
    return result;
  }

  /** Says by which operation's rules the request and the answer are read. */
  #use(asked: Operation, answered: Operation): void {
    this.#asked = asked;
    this.#answered = answered;
    const { discretion } = this.#start;
    const operation: Operation = { ...answered, request: asked.request, name: asked.name };
    this.#opened.operation = discretion === undefined ? operation : discreet(operation, discretion);
  }

  #streamListener() {
    return {
      chunk: (part: unknown) => {
        if (!isObject(part)) return part;
        if (part["type"] === "error") this.#error = { error: part["error"] };
        if (part["type"] === "tool-call") this.#callsTools = true;
        // Once the wire tells, it tells everything; what the SDK makes of it would be counted twice.
        if (!this.#streamed) this.#call.chunk(part);
        return part;
      },
      finished: () => {
        if (this.#error !== undefined) this.failed(this.#error.error);
        else this.#call.finished();
        this.#watch?.finished(this.#callsTools);
        return undefined;
      },
      failed: (error: unknown) => this.failed(error),
      left: () => {
        this.#call.left();
        this.#watch?.left();
      },
    };
  }

  /** A request of the wire: what is recorded of it, and what is sent. */
  #request(url: URL, body: string): string {
    this.#opened.baseURL = url.origin;
    const wire = OPERATIONS.find(({ path }) => url.pathname.endsWith(`/${path.join("/")}`));
    if (wire === undefined) return body;
    const extended = this.#wantsTokens(url) ? withTokens(wire, body) : undefined;
    this.#hideUsage = extended?.hideUsage === true;
    const sent = extended?.json ?? body;
    // Of embeddings the texts are not recorded, which may be megabytes.
    this.#call.sentBody = wire.keepsBody ? sent : toJson({ ...JSON.parse(sent), input: undefined });
    this.#use(wire, this.#answered);
    return sent;
  }

  /** Records an event of the answer; the usage that only we have asked for is not handed on. */
  #event(value: Loose): boolean {
    if (!OPERATIONS.includes(this.#asked)) return true;
    if (!this.#streamed) {
      this.#streamed = true;
      this.#use(this.#asked, this.#asked);
    }
    this.#call.chunk(value);
    const { choices, usage } = value;
    return !(this.#hideUsage && Array.isArray(choices) && choices.length === 0 && isObject(usage));
  }

  #wantsTokens(url: URL): boolean {
    const { tokenIds } = this.#start;
    if (tokenIds !== "auto") return tokenIds;
    return this.#span.rollout?.mode === "train" && !isHosted(url.href);
  }

  /** Records the request of a call whose wire was not seen. */
  #describe(): void {
    if (this.#call.sentBody !== undefined) return;
    const { kind, params, modelId } = this.#start;
    this.#call.sentBody = toJson(kind === "language" ? specBody(params, modelId) : { model: modelId });
  }
}

/** The operation whose answer `body` is. */
function operationOf(body: Loose): Operation | undefined {
  const { choices, object } = body;
  if (Array.isArray(choices)) {
    const name = isObject(choices[0]) && "message" in choices[0] ? "chat" : "text_completion";
    return OPERATIONS.find((operation) => operation.name === name);
  }
  if (object === "response") return OPERATIONS.find(({ path }) => path[0] === "responses");
  if (object === "list" && Array.isArray(body["data"])) {
    return OPERATIONS.find(({ name }) => name === "embeddings");
  }
  return undefined;
}

/** `json` with what asks for token ids; what the user has set stays. */
function withTokens(operation: Operation, json: string): { json: string; hideUsage: boolean } | undefined {
  const body: unknown = JSON.parse(json);
  const extended = isObject(body) ? askForTokens(operation, body) : undefined;
  return extended && { json: JSON.stringify(extended.body), hideUsage: extended.hideUsage };
}
