/**
 * One model call while it runs: its span, and what has arrived of its answer.
 *
 * @module
 */
import type { Attributes } from "../../protocol/json.ts";
import { Agl, GenAi, type Outcome, Tokens } from "../../protocol/semconv.ts";
import { now } from "../../trace/clock.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { type Answer, createAnswer } from "./answer.ts";
import { writeAnswer } from "./answer-attributes.ts";
import type { Operation, Vendor } from "./operations.ts";
import type { BodyReceiver } from "./request-body.ts";
import { writeServer } from "./server-attributes.ts";
import { isObject, type Loose, objectAt, toJson } from "./shape.ts";
import { recordToolCalls } from "./tool-call-spans.ts";

/** A call as the code around it sees it. No method throws; after the end none has an effect. */
export interface ModelCall extends BodyReceiver {
  /** True once the SDK has begun to read the answer's body. */
  reading: boolean;
  /** True once the answer, or its stream, has been seen; a helper of the SDK's may pass it on again. */
  delivered: boolean;
  /** True when the usage chunk of the stream must be hidden. */
  readonly hideUsage: boolean;
  /** The whole answer has arrived. */
  answered(value: unknown): void;
  /** The call has failed, with outcome `error` unless `outcome` says otherwise or the caller has aborted it. */
  failed(error: unknown, outcome?: Outcome): void;
  /** The caller has the raw response, and may never have the SDK read it. */
  responded(): void;
  /** The answer is a stream, whose controller has `signal`. */
  streaming(signal: unknown): void;
  /** A chunk of the stream has arrived. */
  chunk(value: unknown): void;
  /** The stream has ended. */
  finished(): void;
  /** The consumer has left the stream, for a reason that it may tell. */
  left(reason?: unknown): void;
}

/** What a call is made with. */
export interface CallStart {
  span: OpenSpan;
  operation: Operation;
  /** The body as the SDK gets it. */
  body: Loose;
  /** The SDK's request options. */
  options: unknown;
  baseURL: unknown;
  hideUsage: boolean;
  /** The service's name, where it is not told by its address; default `openai`. */
  provider?: string | undefined;
}

/** Opens the record of a call whose span has started. */
export function openCall(start: CallStart): ModelCall {
  return new Call(start);
}

class Call implements ModelCall {
  sentBody: string | undefined = undefined;
  sameBody: BodyReceiver | undefined = undefined;
  reading = false;
  delivered = false;
  readonly hideUsage: boolean;
  readonly #start: CallStart;
  readonly #answer: Answer = createAnswer();
  #signal: unknown = undefined;
  readonly #choices: number;
  #respondedAt: ReturnType<typeof now> | undefined = undefined;

  constructor(start: CallStart) {
    this.#start = start;
    this.hideUsage = start.hideUsage;
    const n = start.body["n"];
    this.#choices = typeof n === "number" ? n : 1;
    start.span.onForcedEnd = () => this.#forced();
  }

  get #ended(): boolean {
    return this.#start.span.ended;
  }

  answered(value: unknown): void {
    if (this.#ended) return;
    if (isObject(value)) this.#read(this.#start.operation.whole, value);
    this.#end(this.#outcome());
  }

  failed(error: unknown, outcome: Outcome = "error"): void {
    if (this.#ended) return;
    this.#end(this.#aborted(error) ? "aborted" : outcome, error);
  }

  responded(): void {
    if (this.#ended || this.#respondedAt !== undefined) return;
    this.#respondedAt = now();
    // Whoever takes the response first may still await the parsed answer, in the turns that follow.
    setTimeout(() => {
      if (!this.reading) this.#end("ok");
    }, 0);
  }

  streaming(signal: unknown): void {
    this.#signal = signal;
  }

  chunk(value: unknown): void {
    if (!this.#ended && isObject(value)) this.#read(this.#start.operation.chunk, value);
  }

  finished(): void {
    if (this.#ended) return;
    this.#end(this.#aborted(undefined) ? "aborted" : this.#complete() ? this.#outcome() : "incomplete");
  }

  left(reason?: unknown): void {
    if (this.#ended) return;
    const known = this.#complete() || this.#answer.failure !== undefined;
    this.#end(known ? this.#outcome() : this.#aborted(reason) ? "aborted" : "cancelled");
  }

  #forced(): void {
    if (this.#respondedAt !== undefined && !this.reading) this.#end("ok");
    else this.#end(this.#aborted(undefined) ? "aborted" : "incomplete");
  }

  #read(read: Operation["whole"], value: Loose): void {
    try {
      read(this.#answer, value);
    } catch (error) {
      this.#start.span.setAttribute("agentlightning.capture.error", String(error));
    }
  }

  /** True when the last word of every choice that was asked for has arrived. */
  #complete(): boolean {
    const { choices } = this.#answer;
    if (choices.size < this.#choices) return false;
    for (const choice of choices.values()) if (choice.finishReason === undefined) return false;
    return true;
  }

  #outcome(): Outcome {
    if (this.#answer.failure !== undefined) return "error";
    for (const choice of this.#answer.choices.values()) {
      if (choice.finishReason === "length") return "truncated";
    }
    return "ok";
  }

  /** An error that is not an abort counts as an error even on a stream whose controller the SDK has aborted since. */
  #aborted(error: unknown): boolean {
    if (isAborted(objectAt(this.#start.options, ["signal"]))) return true;
    if (error === undefined) return isAborted(this.#signal);
    return isObject(error) && (error["name"] === "AbortError" || className(error) === "APIUserAbortError");
  }

  #end(outcome: Outcome, error?: unknown): void {
    const { span, operation, body, options, baseURL, provider } = this.#start;
    const answer = this.#answer;
    // Only a request that never left, or went round the SDK's hook, is serialised here.
    const sent = this.sentBody ?? toJson(body) ?? "{}";
    const helper = helperName(options);
    const failure = failureAttributes(error, answer, operation.vendor);
    const { model } = body;
    if (outcome === "ok") recordToolCalls(span, answer);
    const late = (): Attributes => {
      const attributes = operation.request(JSON.parse(sent) as Loose);
      attributes[GenAi.OperationName] = operation.name;
      // Bedrock and Vertex name the model in the URL.
      if (typeof model === "string") attributes[GenAi.RequestModel] ??= model;
      writeServer(attributes, baseURL, provider ?? operation.vendor?.name);
      if (helper !== undefined) attributes[Agl.Helper] = helper;
      writeAnswer(attributes, answer);
      // Another attempt has taken its place: nothing must be trained on what it had of an answer.
      if (outcome === "superseded") for (const name of Object.values(Tokens)) delete attributes[name];
      return Object.assign(attributes, failure);
    };
    span.end({
      outcome,
      late,
      lateBytes: sent.length + answerBytes(answer),
      ...(error === undefined ? undefined : { error }),
      ...(this.#respondedAt === undefined || this.reading ? undefined : { endTime: this.#respondedAt }),
    });
  }
}

function isAborted(signal: unknown): boolean {
  return isObject(signal) && signal["aborted"] === true;
}

/** Vendors leave `name` at "Error"; the class says more. */
function className(value: Loose): unknown {
  const made = value["constructor"];
  return typeof made === "function" ? made.name : undefined;
}

/** openai 7 names the helper in the options' metadata, before that in a header, as Anthropic's SDK does. */
function helperName(options: unknown): string | undefined {
  if (!isObject(options)) return undefined;
  const headers = objectAt(options, ["headers"]);
  const name =
    objectAt(options, ["__metadata"])?.["helperMethod"] ??
    headers?.["X-Stainless-Helper-Method"] ??
    headers?.["x-stainless-helper-method"];
  return typeof name === "string" ? name.slice(name.lastIndexOf(".") + 1) : undefined;
}

/** What the server said of a failure. */
function failureAttributes(
  error: unknown,
  answer: Answer,
  { name, errorCode }: Pick<Vendor, "name" | "errorCode"> = { name: "openai", errorCode: "code" },
): Attributes | undefined {
  const { failure } = answer;
  if (failure !== undefined)
    return { "error.type": failure.code ?? "response_failed", "error.message": failure.message };
  if (!isObject(error)) return undefined;
  const attributes: Attributes = {};
  const { status, [errorCode]: code } = error;
  const requestId = error["requestID"] ?? error["request_id"];
  if (typeof status === "number") attributes["http.response.status_code"] = status;
  if (typeof code === "string") attributes[`${name}.error.code`] = code;
  if (typeof requestId === "string") attributes[`${name}.request.id`] = requestId;
  return attributes;
}

function answerBytes(answer: Answer): number {
  let bytes = 200 + 8 * (answer.promptTokenIds?.length ?? 0);
  for (const choice of answer.choices.values()) {
    bytes += 100 + (choice.content?.length ?? 0) + (choice.reasoning?.length ?? 0);
    bytes += 8 * (choice.tokenIds?.length ?? 0) + 80 * (choice.logprobs?.length ?? 0);
    for (const call of choice.toolCalls.values()) bytes += 100 + call.arguments.length;
  }
  return bytes;
}
