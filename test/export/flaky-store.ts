/**
 * A LightningStore's `/v1/traces` over real HTTP, whose answers are a test's to choose.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { decodeTracesProto } from "../../src/protocol/otlp/decode-proto.ts";
import type { OtlpSpan } from "../../src/protocol/otlp/otlp-span.ts";
import { Agl } from "../../src/protocol/semconv.ts";

/** One request as it arrived. */
export interface Received {
  spans: OtlpSpan[];
  names: string[];
  /** `rollout/attempt` of the spans, each once. */
  attempts: string[];
  headers: IncomingMessage["headers"];
  bodyBytes: number;
}

/** What the server does with a request; undefined means 200. */
export type Answer = Decided | Promise<Decided>;

/** An answer, now. */
export type Decided =
  // biome-ignore lint/suspicious/noConfusingVoidType: a promise of nothing is a wait before a 200
  | void
  | undefined
  | { status: number; headers?: Record<string, string>; body?: string | Uint8Array }
  | "hang"
  | "reset"
  | "reset-mid-body";

/** A server under a test's control. */
export interface FlakyStore {
  url: string;
  port: number;
  /** All requests, whatever the answer. */
  requests: Received[];
  /** Names of the spans of the requests that were answered with 200, in the order of arrival. */
  accepted: string[];
  acceptedBy(attempt: string): string[];
  /** Decides on each request. */
  answer: (request: Received, index: number) => Answer;
  /** Most requests at work at once, overall and for one attempt. */
  mostAtOnce: { all: number; attempt: number };
  /** Resolves when `count` requests have come. */
  came(count: number): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The spans of an encoded request. */
export function decodeRequest(body: Uint8Array): OtlpSpan[] {
  const spans: OtlpSpan[] = [];
  decodeTracesProto(body, { left: 1e9 } as never, (span) => spans.push(span));
  return spans;
}

/** Starts the server on loopback; on `port` if given. */
export async function serveFlakyStore(port = 0): Promise<FlakyStore> {
  const accepted: Array<{ name: string; attempt: string }> = [];
  const watchers: Array<{ count: number; resolve: () => void }> = [];
  const atWork = new Map<string, number>();
  let all = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw;
    const spans = decodeRequest(body);
    const attemptOf = (span: OtlpSpan) =>
      `${span.attributes[Agl.RolloutId]}/${span.attributes[Agl.AttemptId]}`;
    const received: Received = {
      spans,
      names: spans.map((span) => span.name),
      attempts: [...new Set(spans.map(attemptOf))],
      headers: request.headers,
      bodyBytes: raw.length,
    };
    store.requests.push(received);
    all += 1;
    store.mostAtOnce.all = Math.max(store.mostAtOnce.all, all);
    for (const attempt of received.attempts) {
      atWork.set(attempt, (atWork.get(attempt) ?? 0) + 1);
      store.mostAtOnce.attempt = Math.max(store.mostAtOnce.attempt, atWork.get(attempt) ?? 0);
    }
    for (const watcher of watchers) if (store.requests.length >= watcher.count) watcher.resolve();
    try {
      const chosen = store.answer(received, store.requests.length - 1);
      const answer = chosen instanceof Promise ? await chosen : chosen;
      if (answer === "hang") return;
      if (answer === "reset") return void request.socket.destroy();
      if (answer === "reset-mid-body") {
        response.writeHead(200, { "content-type": "application/x-protobuf", "content-length": "100" });
        response.write("part");
        setImmediate(() => request.socket.destroy());
        return;
      }
      if (answer === undefined || (answer.status >= 200 && answer.status < 300)) {
        for (const span of spans) accepted.push({ name: span.name, attempt: attemptOf(span) });
      }
      response.writeHead(answer?.status ?? 200, {
        "content-type": "application/x-protobuf",
        ...answer?.headers,
      });
      response.end(answer?.body);
    } finally {
      all -= 1;
      for (const attempt of received.attempts) atWork.set(attempt, (atWork.get(attempt) ?? 1) - 1);
    }
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const bound = (server.address() as AddressInfo).port;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const store: FlakyStore = {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    requests: [],
    get accepted() {
      return accepted.map(({ name }) => name);
    },
    acceptedBy: (attempt) => accepted.filter((entry) => entry.attempt === attempt).map(({ name }) => name),
    answer: () => undefined,
    mostAtOnce: { all: 0, attempt: 0 },
    came: (count) =>
      store.requests.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => watchers.push({ count, resolve })),
    close,
    [Symbol.asyncDispose]: close,
  };
  return store;
}
