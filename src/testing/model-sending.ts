/**
 * Puts an answer on the wire, whole or as server-sent events, with the faults that the test asked for.
 *
 * @module
 */
import type { ServerResponse } from "node:http";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { AnswerFormat, StreamFrame } from "./model-format.ts";
import type { Fault } from "./model-reply.ts";

function headersOf(fault: Fault, contentType: string): Record<string, string> {
  return {
    "content-type": contentType,
    ...(fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) }),
    ...fault.headers,
  };
}

/** Sends a status with a body: text as it is, anything else as JSON. */
export function sendBody(response: ServerResponse, status: number, body: Json, fault: Fault = {}): void {
  const text = typeof body === "string";
  response.writeHead(status, headersOf(fault, text ? "text/plain; charset=utf-8" : "application/json"));
  response.end(text ? body : JSON.stringify(body));
}

/** Resolves when the bytes are handed to the system, or the connection is gone. */
function write(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) resolve();
    else response.write(text, () => resolve());
  });
}

/** Sends a whole answer; `failure` is the endpoint's way to say that it failed. */
export async function sendWhole(
  response: ServerResponse,
  body: JsonObject,
  fault: Fault,
  failure: StreamFrame,
): Promise<void> {
  await fault.gate?.(0);
  const { cut } = fault;
  if (cut === undefined) return sendBody(response, 200, body, fault);
  const bytes = Buffer.from(JSON.stringify(body));
  if (cut.after > 0) {
    // The length promises the whole body, so that a client can tell that it was cut.
    response.writeHead(200, { ...headersOf(fault, "application/json"), "content-length": bytes.length });
    await new Promise<void>((resolve) =>
      response.write(bytes.subarray(0, bytes.length >> 1), () => resolve()),
    );
  }
  if (cut.how === "hang") return;
  if (cut.after === 0 && cut.how === "malformed") return sendBody(response, 200, '{"choices": [', fault);
  if (cut.after === 0 && cut.how === "error") return sendBody(response, 500, failure.data, fault);
  response.destroy();
}

function lines(frame: StreamFrame): string {
  const name = frame.event === undefined ? "" : `event: ${frame.event}\n`;
  return `${name}data: ${JSON.stringify(frame.data)}\n\n`;
}

function* texts(frames: Iterable<StreamFrame>, fault: Fault, done: boolean): Generator<string> {
  if (fault.rawChunks !== undefined) {
    for (const raw of fault.rawChunks) yield `data: ${raw}\n\n`;
    return;
  }
  for (const frame of frames) yield lines(frame);
  if (done) yield "data: [DONE]\n\n";
}

/** Sends a stream. Chunks are counted from 0, as gates and cuts count them; `[DONE]` counts as one. */
export async function sendStream(
  response: ServerResponse,
  frames: Iterable<StreamFrame>,
  fault: Fault,
  { done, failure }: AnswerFormat,
): Promise<void> {
  const { cut } = fault;
  let chunk = 0;
  const start = () => {
    if (!response.headersSent) response.writeHead(200, headersOf(fault, "text/event-stream; charset=utf-8"));
  };
  for (const text of texts(frames, fault, done)) {
    if (cut !== undefined && chunk === cut.after) {
      if (cut.how === "reset") return void response.destroy();
      if (cut.how === "hang") return;
      start();
      if (cut.how === "end") return void response.end();
      if (cut.how === "error") return void response.end(lines(failure));
      // Under the name of the event whose place it takes: readers pass over events without one.
      await write(response, text.replace(/^data: .*/m, "data: {not json"));
    }
    await fault.gate?.(chunk);
    if (response.destroyed) return;
    start();
    await write(response, text);
    chunk++;
  }
  start();
  response.end();
}
