/**
 * A model's run as a framework tells of it. It becomes a span only when nothing below has recorded the call: a client of
 * OpenAI's does it with the token ids, which frameworks drop.
 *
 * @module
 */
import type { Attributes, AttributeValue } from "../protocol/json.ts";
import { GenAi, type Outcome, SpanName } from "../protocol/semconv.ts";
import { now, type Timestamp } from "../trace/clock.ts";
import type { OpenSpan } from "../trace/open-span.ts";
import { startSpan } from "../trace/recorder.ts";
import type { RolloutScope } from "../trace/rollout-scope.ts";
import { currentScope, type InnerCalls, runIn, type Scope, withScope } from "../trace/scope.ts";
import { type Answer, createAnswer } from "./openai/answer.ts";
import { writeAnswer } from "./openai/answer-attributes.ts";
import { chatRequest } from "./openai/request-attributes.ts";
import { type Loose, toJson } from "./openai/shape.ts";
import { recordToolCalls } from "./openai/tool-call-spans.ts";

/** What is run. */
export interface ModelRunStart {
  /** The request as the body of a chat completion; asked once, at the end. */
  readonly body: () => Loose;
  /** The provider in the words of OpenTelemetry's conventions. */
  readonly provider?: string | undefined;
  /** Takes over the whole answer as the framework gives it. */
  readonly read: (answer: Answer, result: unknown) => void;
}

/** A model's run while it is open. */
export interface ModelRun {
  /** Where the calls inside are counted; known once the model itself runs. */
  place: InnerCalls | undefined;
  /** What has arrived so far. */
  readonly answer: Answer;
  /** The framework has the answer. */
  answered(result: unknown): void;
  failed(outcome: Outcome, error?: unknown): void;
}

/** Starts the record of a model's run under `parent`; `onEnd` is called once, however it ends. */
export function openModelRun(
  start: ModelRunStart,
  parent: OpenSpan | undefined,
  onEnd: () => void = () => {},
): ModelRun {
  return new Recording(start, parent, onEnd);
}

/** Among a rollout's open spans it stands for the span that it may become. */
class Recording implements ModelRun, OpenSpan {
  readonly name = SpanName.ModelCall;
  readonly traceId: string;
  readonly spanId: string;
  readonly rollout: RolloutScope | undefined;
  readonly agent: string | undefined;
  place: InnerCalls | undefined = undefined;
  ended = false;
  onForcedEnd: (() => void) | undefined = () => this.failed("incomplete");
  readonly answer = createAnswer();
  readonly #start: ModelRunStart;
  readonly #parent: OpenSpan | undefined;
  readonly #scope: Scope | undefined = currentScope();
  readonly #startTime: Timestamp = now();
  readonly #onEnd: () => void;

  constructor(start: ModelRunStart, parent: OpenSpan | undefined, onEnd: () => void) {
    this.#start = start;
    this.#parent = parent;
    this.#onEnd = onEnd;
    this.traceId = parent?.traceId ?? "";
    this.spanId = parent?.spanId ?? "";
    this.rollout = parent?.rollout ?? this.#scope?.rollout;
    this.agent = parent?.agent ?? this.#scope?.agent;
    this.rollout?.open.add(this);
  }

  setAttribute(_name: string, _value: AttributeValue): void {}
  setAttributes(_attributes: Attributes): void {}
  end(): void {
    this.failed("incomplete");
  }

  answered(result: unknown): void {
    if (this.#close()) return;
    try {
      this.#start.read(this.answer, result);
    } catch {
      // What could be read is recorded.
    }
    let outcome: Outcome = "ok";
    for (const { finishReason } of this.answer.choices.values()) {
      if (finishReason === "length") outcome = "truncated";
    }
    this.#record(outcome);
  }

  failed(outcome: Outcome, error?: unknown): void {
    if (!this.#close()) this.#record(outcome, error);
  }

  /** True when there is nothing to record: it has ended before, or a layer below has recorded it. */
  #close(): boolean {
    if (this.ended) return true;
    this.ended = true;
    this.rollout?.open.delete(this);
    this.#onEnd();
    return (this.place?.calls ?? 0) > 0;
  }

  /** The messages are the program's own objects: their text is taken when the call has ended. */
  #sent(): string {
    try {
      return toJson(this.#start.body()) ?? "{}";
    } catch {
      return "{}";
    }
  }

  #record(outcome: Outcome, error?: unknown): void {
    const { answer } = this;
    const inner = this.place?.outer;
    const startTime = this.#startTime;
    runIn(this.#scope, () =>
      withScope({ inner }, () => {
        const span = startSpan({
          name: SpanName.ModelCall,
          client: true,
          startTime,
          parent: this.#parent,
        });
        if (span === undefined) return;
        const sent = this.#sent();
        const { provider } = this.#start;
        if (outcome === "ok") recordToolCalls(span, answer);
        const late = (): Attributes => {
          const attributes = chatRequest(JSON.parse(sent) as Loose);
          attributes[GenAi.OperationName] = "chat";
          if (provider !== undefined) {
            attributes[GenAi.ProviderName] = provider;
            attributes[GenAi.System] = provider;
          }
          writeAnswer(attributes, answer);
          return attributes;
        };
        span.end({
          outcome,
          late,
          lateBytes: sent.length + 400,
          ...(error === undefined ? undefined : { error }),
        });
      }),
    );
  }
}
