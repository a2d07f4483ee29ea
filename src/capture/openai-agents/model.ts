/**
 * Patches models: the calls that a model makes are counted, and one that no client below has recorded becomes a span
 * from what the model was given and gives.
 *
 * @module
 */
import { hide } from "../../internal/hide.ts";
import { isRecording } from "../../trace/recorder.ts";
import { currentScope, type Scope, withScope } from "../../trace/scope.ts";
import { followResult } from "../follow-result.ts";
import { type ModelRun, openModelRun } from "../model-run.ts";
import { append, choiceAt } from "../openai/answer.ts";
import type { OpenAIOptions } from "../openai/settings.ts";
import { isObject, type Loose, objectAt } from "../openai/shape.ts";
import { ownerOf, patch } from "../patch.ts";
import { followSteps } from "../steps.ts";
import { type CallPlace, openPlace } from "./client.ts";
import { readModelResponse, readRawEvent, redact } from "./model-answer.ts";
import { requestBody } from "./model-request.ts";
import { isConfidential } from "./runs.ts";

/** The names that providers were asked for: a model may not tell its own. */
const names = new WeakMap<object, string>();

/** Patches `model` or its class, and what gives models when it is a provider of them. */
export function patchModel(model: unknown, options: OpenAIOptions): void {
  const provider = ownerOf(model, "getModel");
  if (provider !== undefined) {
    patch(provider, "getModel", (original) => {
      return function (...args) {
        const result = original.apply(this, args);
        const take = (made: unknown): unknown => {
          if (isObject(made) && typeof args[0] === "string" && args[0] !== "") names.set(made, args[0]);
          patchModel(made, options);
          return made;
        };
        return result instanceof Promise ? result.then(take) : take(result);
      };
    });
  }
  const whole = ownerOf(model, "getResponse");
  const streamed = ownerOf(model, "getStreamedResponse");
  if (whole !== undefined) patch(whole, "getResponse", (original) => wrapWhole(original, options));
  if (streamed !== undefined)
    patch(streamed, "getStreamedResponse", (original) => wrapStreamed(original, options));
}

function nameOf(model: unknown): unknown {
  if (!isObject(model)) return undefined;
  const name = model["_model"] ?? names.get(model) ?? model["model"];
  return typeof name === "string" ? name : model.constructor.name;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

function wrapWhole(original: Method, options: OpenAIOptions): Method {
  return function (...args) {
    const call = open(this, args[0], options);
    if (call === undefined) return original.apply(this, args);
    return followResult(() => withScope(call.scope, () => original.apply(this, args)), {
      answered: (result) => call.run.answered(result),
      failed: call.failed,
    });
  };
}

function wrapStreamed(original: Method, options: OpenAIOptions): Method {
  return function (...args) {
    const call = open(this, args[0], options);
    if (call === undefined) return original.apply(this, args);
    let stream: unknown;
    try {
      stream = withScope(call.scope, () => original.apply(this, args));
    } catch (error) {
      call.failed(error);
      throw error;
    }
    if (!isObject(stream)) call.run.answered(undefined);
    else if (typeof stream["next"] === "function") listen(stream, call);
    else {
      const iterate = stream[Symbol.asyncIterator];
      hide(stream, Symbol.asyncIterator, function (this: unknown): unknown {
        const iterator: unknown = (iterate as Method).call(this);
        if (isObject(iterator)) listen(iterator, call);
        return iterator;
      });
    }
    return stream;
  };
}

interface Call {
  readonly run: ModelRun;
  readonly scope: Partial<Scope>;
  readonly confidential: boolean;
  failed(error: unknown): void;
}

function open(model: unknown, request: unknown, options: OpenAIOptions): Call | undefined {
  try {
    const scope = currentScope();
    if (scope?.suppressed === true || !isRecording(scope?.rollout) || !isObject(request)) return undefined;
    const confidential = isConfidential();
    const place: CallPlace = openPlace(model, scope?.inner, options);
    const run = openModelRun(
      {
        body: () => requestBody(nameOf(model), request, confidential),
        read(answer, result) {
          readModelResponse(answer, result);
          if (confidential) redact(answer);
        },
      },
      scope?.span,
    );
    run.place = place;
    return {
      run,
      confidential,
      // A client below would tell what is said.
      scope: { span: scope?.span, agent: scope?.agent, inner: place, suppressed: confidential },
      failed(error) {
        const aborted = objectAt(request, ["signal"])?.["aborted"] === true;
        run.failed(aborted ? "aborted" : "error", confidential ? withoutMessage(error) : error);
      },
    };
  } catch {
    return undefined;
  }
}

function withoutMessage(error: unknown): object {
  return { constructor: isObject(error) ? error.constructor : Error, message: "" };
}

function listen(iterator: Loose, { run, scope, confidential, failed }: Call): void {
  let raw = false;
  let whole: unknown;
  const onEvent = (event: Loose): void => {
    if (event["type"] === "response_done") whole = event["response"];
    if (confidential) return;
    if (readRawEvent(run.answer, event)) raw = true;
    else if (!raw && event["type"] === "output_text_delta") {
      const choice = choiceAt(run.answer, 0);
      choice.content = append(choice.content, event["delta"]);
    }
  };
  const end = (): void => run.answered(raw ? undefined : whole);
  followSteps(iterator, withScope(scope, currentScope), {
    onStep(step) {
      if (step["done"] === true) end();
      else if (isObject(step["value"])) {
        onEvent(step["value"]);
      }
    },
    onError: failed,
    onLeave: () => (whole === undefined ? run.failed("cancelled") : end()),
  });
}
