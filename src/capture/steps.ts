/**
 * Runs the steps of an iterator where it was made, and tells of them: the body of a generator runs in the context of
 * whoever asks for the next value.
 *
 * @module
 */
import { hide } from "../internal/hide.ts";
import { quietly } from "../internal/quietly.ts";
import { isThenable } from "../internal/thenable.ts";
import { runIn, type Scope } from "../trace/scope.ts";
import { isObject, type Loose } from "./openai/shape.ts";

/** What is told of an iterator's steps. What one of the functions throws is lost. */
export interface StepListener {
  /** An iterator's result: `value`, or `done`. */
  onStep(step: Loose): void;
  onError(error: unknown): void;
  /** The consumer has left before the end. */
  onLeave(): void;
}

/** Replaces the methods of `iterator`, which stays the same object and gives the same promises. */
export function followSteps(iterator: Loose, scope: Scope | undefined, listener: StepListener): void {
  for (const name of ["next", "return", "throw"]) {
    const original = iterator[name];
    if (typeof original !== "function") continue;
    hide(iterator, name, (...args: unknown[]): unknown => {
      if (name === "return") quietly(() => listener.onLeave(), undefined);
      const step: unknown = runIn(scope, () => original.apply(iterator, args));
      if (name === "next" && isThenable(step)) {
        step.then(
          (result) => quietly(() => isObject(result) && listener.onStep(result), undefined),
          (error: unknown) => quietly(() => listener.onError(error), undefined),
        );
      }
      return step;
    });
  }
}
