/**
 * A server on loopback that sends exactly what a test says, chunk by chunk, and records what came.
 *
 * @module
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A piece of a stream: an object becomes one event, text is sent as it is, a function is awaited first. */
export type Piece = object | string | (() => Promise<void>);

/** An answer. */
export interface WireReply {
  status?: number;
  headers?: Record<string, string>;
  /** A JSON body. */
  json?: unknown;
  /** A text body. */
  text?: string;
  /** A stream of events, which ends with `[DONE]`. */
  sse?: readonly Piece[];
  /** Breaks the connection where `[DONE]` would stand. */
  cut?: boolean;
}

/** A request that came. */
export interface WireRequest {
  path: string;
  headers: Record<string, unknown>;
  body: string;
}

/** What answers the requests: one reply for all, or one for each. */
export type WireScript = WireReply | ((request: WireRequest, index: number) => WireReply);

/** A running server. */
export interface WireServer {
  readonly url: string;
  /** Sets the script and forgets the requests. */
  play(script: WireScript): WireRequest[];
  /** Resolves when a response's connection has been closed before its end. */
  readonly broken: () => number;
  close(): Promise<void>;
}

function frame(piece: object): string {
  const type = (piece as { type?: unknown }).type;
  const event = typeof type === "string" && type.startsWith("response.") ? `event: ${type}\n` : "";
  return `${event}data: ${JSON.stringify(piece)}\n\n`;
}

async function send(reply: WireReply, outgoing: ServerResponse): Promise<void> {
  const headers = { "x-request-id": "req_1", ...reply.headers };
  const status = reply.status ?? 200;
  if (reply.sse === undefined) {
    const type = reply.text === undefined ? "application/json" : "text/plain";
    outgoing.writeHead(status, { "content-type": type, ...headers });
    outgoing.end(reply.text ?? JSON.stringify(reply.json ?? {}));
    return;
  }
  outgoing.writeHead(status, { "content-type": "text/event-stream", ...headers });
  outgoing.flushHeaders();
  for (const piece of reply.sse) {
    if (typeof piece === "function") await piece();
    else outgoing.write(typeof piece === "string" ? piece : frame(piece));
  }
  if (reply.cut === true) {
    // What was written must reach the other side before the connection breaks.
    await new Promise<void>((resolve) => outgoing.write(": \n\n", () => resolve()));
    outgoing.destroy();
  } else {
    outgoing.end("data: [DONE]\n\n");
  }
}

/** Starts a server on 127.0.0.1. */
export async function serveWire(): Promise<WireServer> {
  let script: WireScript = {};
  let requests: WireRequest[] = [];
  let broken = 0;
  const server = createServer((incoming, outgoing) => {
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) broken++;
    });
    let body = "";
    incoming.setEncoding("utf8");
    incoming.on("data", (part: string) => {
      body += part;
    });
    incoming.on("end", () => {
      const request: WireRequest = { path: incoming.url ?? "", headers: { ...incoming.headers }, body };
      requests.push(request);
      const reply = typeof script === "function" ? script(request, requests.length - 1) : script;
      send(reply, outgoing).catch(() => outgoing.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    play(next) {
      script = next;
      requests = [];
      broken = 0;
      return requests;
    },
    broken: () => broken,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
