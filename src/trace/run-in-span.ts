/**
 * Runs a function inside a span and ends the span when what the function gave back is done: at once, when its promise
 * settles, or when its generator ends. The caller gets what the function gave.
 *
 * @module
 */
import { hide } from "../internal/hide.ts";
import { isThenable, observeThen } from "../internal/thenable.ts";
import { now } from "./clock.ts";
import type { OpenSpan } from "./open-span.ts";
import { currentScope, runIn, type Scope, withScope } from "./scope.ts";

/** What to do with the span beyond ending it. */
export interface RunOptions {
  /** Changes of the scope beside the span. */
  scope?: Partial<Scope>;
  /** Records the result; for a generator the list of what it yielded, and its return value. */
  onResult?: (result: unknown) => void;
}

/** Runs `fn` as `span`. */
export function runInSpan<R>(span: OpenSpan, fn: () => R, options: RunOptions = {}): R {
  return withScope({ ...options.scope, span }, () => {
    let result: R;
    try {
      result = fn();
    } catch (error) {
      fail(span, error);
      throw error;
    }
    return follow(span, result, options.onResult ?? (() => {}));
  });
}

function fail(span: OpenSpan, error: unknown): void {
  span.end({ outcome: "error", error, endTime: now() });
}

function succeed(span: OpenSpan, result: unknown, onResult: (result: unknown) => void): void {
  const endTime = now();
  try {
    onResult(result);
  } catch {
    // Recording must not fail the call; the span goes without the result.
  }
  span.end({ outcome: "ok", endTime });
}

function follow<R>(span: OpenSpan, result: R, onResult: (result: unknown) => void): R {
  if (isGenerator(result)) return followGenerator(span, result, onResult) as R;
  if (result instanceof Promise && result.constructor === Promise) {
    // The derived promise is handed on: observing on the side would silence the caller's unhandled rejections.
    return result.then(
      (value) => {
        succeed(span, value, onResult);
        return value;
      },
      (error) => {
        fail(span, error);
        throw error;
      },
    ) as R;
  }
  if (isThenable(result)) return followThenable(span, result, onResult) as R;
  succeed(span, result, onResult);
  return result;
}

/** A promise of a class of its own may be lazy and have methods: it is watched in place, when the caller uses it. */
function followThenable<T extends PromiseLike<unknown>>(
  span: OpenSpan,
  value: T,
  onResult: (result: unknown) => void,
): T {
  const watched = observeThen(
    value,
    (result) => succeed(span, result, onResult),
    (error) => fail(span, error),
  );
  if (!watched) succeed(span, undefined, () => {});
  return value;
}

type AnyGenerator = Record<"next" | "return" | "throw", (value?: unknown) => unknown> & object;

function isGenerator(value: unknown): value is AnyGenerator {
  if (typeof value !== "object" || value === null) return false;
  const tag = (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
  return tag === "AsyncGenerator" || tag === "Generator";
}

/**
 * The methods of this one generator are replaced, so that the object, its class and its behaviour stay. Its body runs
 * in the context of whoever asks for the next value, hence the scope is put back for each step.
 */
function followGenerator<T extends AnyGenerator>(
  span: OpenSpan,
  generator: T,
  onResult: (result: unknown) => void,
): T {
  const scope = currentScope();
  const yielded: unknown[] = [];
  const step = (result: { done?: boolean; value?: unknown }, left: boolean) => {
    if (result.done !== true) yielded.push(result.value);
    else if (left) span.end({ outcome: "cancelled" });
    else succeed(span, result.value === undefined ? yielded : [...yielded, result.value], onResult);
    return result;
  };
  for (const method of ["next", "return", "throw"] as const) {
    const original = generator[method];
    const left = method === "return";
    const stepped = (...args: [unknown?]) =>
      runIn(scope, () => {
        let result: unknown;
        try {
          result = original.apply(generator, args);
        } catch (error) {
          fail(span, error);
          throw error;
        }
        if (!(result instanceof Promise)) return step(result as { done?: boolean }, left);
        return result.then(
          (value) => step(value, left),
          (error) => {
            fail(span, error);
            throw error;
          },
        );
      });
    // A frozen generator: what it will do cannot be seen.
    if (!hide(generator, method, stepped)) {
      succeed(span, undefined, () => {});
      break;
    }
  }
  return generator;
}
