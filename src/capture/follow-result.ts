/**
 * Runs a call and tells how it ends: at once, or when its promise settles.
 *
 * @module
 */
import { quietly } from "../internal/quietly.ts";

/** What is told, once. What one of the functions throws is lost. */
export interface ResultListener {
  answered(result: unknown): void;
  failed(error: unknown): void;
}

/** Gives what `run` gives, or throws what it throws. */
export function followResult(run: () => unknown, listener: ResultListener): unknown {
  const answered = (value: unknown): unknown => {
    quietly(() => listener.answered(value), undefined);
    return value;
  };
  const failed = (error: unknown): never => {
    quietly(() => listener.failed(error), undefined);
    throw error;
  };
  let result: unknown;
  try {
    result = run();
  } catch (error) {
    return failed(error);
  }
  // The derived promise is handed on: observing on the side would silence the caller's unhandled rejections.
  return result instanceof Promise ? result.then(answered, failed) : answered(result);
}
