/**
 * A function with a span around each call, that looks like the function it wraps.
 *
 * @module
 */
import type { OpenSpan, SpanStart } from "../trace/open-span.ts";
import { startSpan } from "../trace/recorder.ts";
import { runInSpan } from "../trace/run-in-span.ts";

// biome-ignore lint/suspicious/noExplicitAny: any function at all can be wrapped.
export type AnyFunction = (...args: any[]) => unknown;

/** What to record of a call. None of the functions may keep or change the values it is given. */
export interface CallRecording {
  start: (args: readonly unknown[]) => SpanStart;
  onResult: (span: OpenSpan, result: unknown) => void;
}

/** Wraps `fn`; name, length and own properties stay, `this` is passed on. */
export function wrapFunction<F extends AnyFunction>(fn: F, recording: CallRecording): F {
  const wrapped = function (this: unknown, ...args: unknown[]) {
    let span: OpenSpan | undefined;
    try {
      span = startSpan(recording.start(args));
    } catch {
      // Recording must not fail the call.
    }
    if (span === undefined) return fn.apply(this, args);
    const recorded = span;
    return runInSpan(recorded, () => fn.apply(this, args), {
      onResult: (result) => recording.onResult(recorded, result),
    });
  };
  Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(fn));
  return wrapped as unknown as F;
}
