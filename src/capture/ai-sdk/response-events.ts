/**
 * Listens to the server-sent events of a response while somebody reads its body.
 *
 * @module
 */
import { isObject, type Loose } from "../openai/shape.ts";
import { createEventReader } from "./sse.ts";
import { tapped } from "./tapped-stream.ts";

/** Is told of a response's events, and then of one of the ways in which reading ends. */
export interface EventListener {
  /** An event of the streamed answer; false when the user must not see it. */
  event(value: Loose): boolean;
  /** Somebody has begun to read. */
  opened?(): void;
  finished?(): void;
  failed?(error: unknown): void;
  /** The reader has left before the end. */
  left?(): void;
}

/** The response stays the same object; its body is tapped when somebody takes it as a stream. */
export function tapEvents(response: Response, listener: EventListener): void {
  if (!isObject(response) || response.headers.get("content-type")?.includes("text/event-stream") !== true)
    return;
  let body: ReadableStream<Uint8Array> | null | undefined;
  const get = (): ReadableStream<Uint8Array> | null => {
    if (body !== undefined) return body;
    const own = Object.getOwnPropertyDescriptor(Response.prototype, "body")?.get?.call(response) ?? null;
    if (own === null || own.locked) return own;
    listener.opened?.();
    const { chunk, rest } = createEventReader((event) => listener.event(event));
    body = tapped<Uint8Array>(own, {
      chunk,
      finished: () => {
        listener.finished?.();
        return rest();
      },
      failed: (error) => listener.failed?.(error),
      left: () => listener.left?.(),
    });
    return body;
  };
  Reflect.defineProperty(response, "body", { get, configurable: true });
}
