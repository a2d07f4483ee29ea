/**
 * One call of a model as a span. What went over the wire is recorded where it is OpenAI's protocol, since token ids are
 * nowhere else; what the model gave to the SDK is recorded otherwise.
 *
 * @module
 */
import type { Timestamp } from "../../trace/clock.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { startSpan } from "../../trace/recorder.ts";
import { currentScope, type Scope, withScope } from "../../trace/scope.ts";
import { type CallStart, type ModelCall, openCall } from "../openai/call.ts";
import { OPERATIONS, type Operation } from "../openai/operations.ts";
import { isObject, type Loose, objectAt, toJson } from "../openai/shape.ts";
import { isHosted } from "../openai/token-request.ts";
import { currentDiscretion, type Discretion, discreet } from "./discretion.ts";
import type { ModelKind } from "./kinds.ts";
import { operationOf, SPEC_OPERATIONS, withTokens } from "./model-operation.ts";
import { specBody } from "./spec-request.ts";
import { isAbort, type StepWatch, stepWatchOf } from "./stream-operation.ts";
import { tapInPlace } from "./tapped-stream.ts";
import { listenToWire } from "./wire.ts";

/** A call of a model that is about to be made. */
export interface ModelCallStart {
  kind: ModelKind;
  /** The call's options: prompt, tools, settings, `abortSignal`. */
  params: Loose;
  modelId: unknown;
  /** The model's `provider`, as in `anthropic.messages`. */
  provider: unknown;
  tokenIds: "auto" | boolean;
  /** Name of the agent, when it is not the scope's. */
  agent?: string | undefined;
  /** What is left out, when it is not what the scope says. */
  discretion?: Discretion | undefined;
  startTime?: Timestamp | undefined;
}

/** A model call that is being recorded. No method throws. */
export interface OpenModelCall {
  readonly span: OpenSpan;
  /** Changes of the scope in which the model must run. */
  readonly scope: Partial<Scope>;
  /** Takes what the model gave; a stream is followed as the caller reads it. */
  arrived(result: unknown): void;
  /** Takes what the model gave where the caller gets it without us: a stream is then followed on the wire alone. */
  seen(result: unknown): void;
  failed(error: unknown): void;
}

/** Runs `execute`, which asks the model, and records the call. The caller gets what `execute` gives. */
export function callModel(start: ModelCallStart, execute: () => unknown): unknown {
  const call = openModelCall(start);
  return call === undefined ? execute() : followModelCall(call, () => withScope(call.scope, execute));
}

/** Starts the record of a call; undefined when there is none to make. */
export function openModelCall(start: ModelCallStart): OpenModelCall | undefined {
  const discretion = start.discretion ?? currentDiscretion();
  if (discretion?.off === true) return undefined;
  const operation = SPEC_OPERATIONS[start.kind];
  const { agent, startTime } = start;
  const span = startSpan({ ...operation.span, ...(startTime && { startTime }), ...(agent && { agent }) });
  return span && new Recording(span, operation, { ...start, discretion });
}

/** Runs `execute`, which asks the model in the scope of `call`, and has `call` told of the answer. */
export function followModelCall(call: OpenModelCall, execute: () => unknown): unknown {
  let result: unknown;
  try {
    result = execute();
  } catch (error) {
    call.failed(error);
    throw error;
  }
  if (!(result instanceof Promise)) {
    call.arrived(result);
    return result;
  }
  return result.then(
    (value) => {
      call.arrived(value);
      return value;
    },
    (error) => {
      call.failed(error);
      throw error;
    },
  );
}

class Recording implements OpenModelCall {
  readonly span: OpenSpan;
  readonly scope: Partial<Scope>;
  readonly #start: ModelCallStart;
  readonly #call: ModelCall;
  readonly #opened: CallStart;
  #asked: Operation;
  #answered: Operation;
  #streamed = false;
  #error: { error: unknown } | undefined = undefined;
  readonly #watch: StepWatch | undefined = stepWatchOf(currentScope()?.span);
  #callsTools = false;
  #hideUsage = false;
  #wireOpened = false;
  #onlyWire = false;
  #closeWire: (() => void) | undefined = undefined;

  constructor(span: OpenSpan, operation: Operation, start: ModelCallStart) {
    this.#start = start;
    this.span = span;
    this.scope = { span, suppressed: true };
    this.#opened = {
      span,
      operation,
      body: { model: start.modelId },
      options: { signal: start.params["abortSignal"] },
      baseURL: undefined,
      hideUsage: false,
      provider: typeof start.provider === "string" ? start.provider.split(".")[0] : undefined,
    };
    this.#asked = operation;
    this.#answered = operation;
    this.#use(operation, operation);
    this.#call = openCall(this.#opened);
    listenToWire(span, {
      request: (url, body, signal) => this.#request(url, body, signal),
      event: (value) => this.#event(value),
      opened: () => {
        this.#wireOpened = true;
      },
      finished: () => this.#wireClosed(() => this.#call.finished()),
      failed: (error) => this.#wireClosed(() => this.failed(error)),
      left: () => this.#wireClosed(() => this.#call.left()),
    });
  }

  failed(error: unknown): void {
    try {
      this.#describe();
      const status = isObject(error) ? error["statusCode"] : undefined;
      if (typeof status === "number") this.span.setAttribute("http.response.status_code", status);
    } finally {
      this.#call.failed(error);
      this.#watch?.failed(error);
    }
  }

  seen(result: unknown): void {
    this.#describe();
    if (this.#wireOpened) {
      this.#onlyWire = true;
      this.#closeWire?.();
    } else if (isObject(result) && "stream" in result) this.#call.finished();
    else this.arrived(result);
  }

  #wireClosed(close: () => void): void {
    if (this.#onlyWire) close();
    else this.#closeWire = close;
  }

  arrived(result: unknown): void {
    try {
      if (!isObject(result)) {
        this.#call.answered(undefined);
        return;
      }
      this.#describe();
      const { stream, content } = result;
      // Mastra puts a stream beside an answer that is whole.
      if (stream instanceof ReadableStream && content === undefined) {
        tapInPlace(stream, this.#streamListener());
        return;
      }
      const body = objectAt(result, ["response", "body"]);
      const wire = body === undefined ? undefined : operationOf(body);
      if (wire !== undefined) this.#use(this.#asked, wire);
      this.#call.answered(wire === undefined ? result : body);
    } catch {
      this.#call.finished();
    }
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
      left: (reason: unknown) => {
        const aborted = isAbort(reason) || objectAt(this.#opened.options, ["signal"])?.["aborted"] === true;
        // Version 7 leaves a stream with the error that came in it when it is about to ask again.
        if (this.#error !== undefined && reason !== undefined && !aborted) {
          this.#call.failed(this.#error.error, "superseded");
          return;
        }
        this.#call.left(reason);
        this.#watch?.left(aborted);
      },
    };
  }

  /** A request of the wire: what is recorded of it, and what is sent. */
  #request(url: URL, body: string, signal: unknown): string {
    this.#opened.baseURL = url.origin;
    // The SDK's telemetry is not given the caller's signal.
    this.#opened.options = { signal: this.#start.params["abortSignal"] ?? signal };
    const wire = OPERATIONS.find(({ path }) => url.pathname.endsWith(`/${path.join("/")}`));
    if (wire === undefined) return body;
    this.#opened.provider = undefined;
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
    return this.span.rollout?.mode === "train" && !isHosted(url.href);
  }

  /** Records the request of a call whose wire was not seen. */
  #describe(): void {
    if (this.#call.sentBody !== undefined) return;
    const { kind, params, modelId } = this.#start;
    this.#call.sentBody = toJson(kind === "language" ? specBody(params, modelId) : { model: modelId });
  }
}
