/**
 * A `ReadableStream` that hands on another's chunks and tells of them. Nothing is read ahead: a chunk is asked for when
 * the consumer asks, and a consumer that leaves cancels the source.
 *
 * @module
 */
import { hide } from "../../internal/hide.ts";
import { quietly } from "../../internal/quietly.ts";

/** What is told of a stream; each method is called in order, and at most one of the last three. */
export interface StreamListener<T> {
  /** Gives what the consumer gets; undefined for nothing. */
  chunk(value: T): T | undefined;
  /** Gives what the consumer still gets; undefined for nothing. */
  finished(): T | undefined;
  failed(error: unknown): void;
  left(reason?: unknown): void;
}

const READING = [
  "getReader",
  "pipeThrough",
  "pipeTo",
  "tee",
  "values",
  "cancel",
  Symbol.asyncIterator,
] as const;

/**
 * Has `listener` told of what `source` gives, whoever reads it by its methods. It stays the same object, since the SDK
 * may go on with one that we were not given.
 */
export function tapInPlace<T>(source: ReadableStream<T>, listener: StreamListener<T>): void {
  let tap: ReadableStream<T> | undefined;
  const taken = (): ReadableStream<T> => {
    if (tap === undefined) {
      for (const name of [...READING, "locked"]) Reflect.deleteProperty(source, name);
      tap = tapped(source, listener);
      redirect();
    }
    return tap;
  };
  const redirect = (): void => {
    for (const name of READING) {
      hide(source, name, (...args: unknown[]): unknown => {
        const stream = taken();
        return Reflect.apply(stream[name] as () => unknown, stream, args);
      });
    }
    Reflect.defineProperty(source, "locked", { get: () => tap?.locked ?? false, configurable: true });
  };
  redirect();
}

/** `source` with a listener. */
export function tapped<T>(source: ReadableStream<T>, listener: StreamListener<T>): ReadableStream<T> {
  const reader = source.getReader();
  let settled = false;
  return new ReadableStream<T>(
    {
      async pull(controller) {
        for (;;) {
          let step: { done: boolean; value?: T | undefined };
          try {
            step = await reader.read();
          } catch (error) {
            if (!settled) quietly(() => listener.failed(error), undefined);
            settled = true;
            controller.error(error);
            return;
          }
          // The consumer has left while we were reading; its stream takes nothing any more.
          if (settled) return;
          if (step.done) {
            settled = true;
            const last = quietly(() => listener.finished(), undefined);
            if (last !== undefined) controller.enqueue(last);
            controller.close();
            return;
          }
          const value = step.value as T;
          const given = quietly(() => listener.chunk(value), value);
          if (given === undefined) continue;
          controller.enqueue(given);
          return;
        }
      },
      cancel(reason) {
        if (!settled) quietly(() => listener.left(reason), undefined);
        settled = true;
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
