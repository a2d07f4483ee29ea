/**
 * One request to the store, and what came of it as a value.
 *
 * @module
 */
import { context, createContextKey, ROOT_CONTEXT } from "@opentelemetry/api";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { parseRetryAfter } from "../internal/retry-after.ts";
import { gzip } from "./gzip.ts";
import { loosenSockets } from "./loose-sockets.ts";
import { statusMeaning } from "./retry.ts";
import type { SetTimer } from "./timer.ts";

/** Arrived; the server turned `rejected` spans down for the reason in `message`. */
export interface Accepted {
  kind: "accepted";
  rejected: number;
  message: string;
}

/** Turned down for what is in it. */
export interface Refused {
  kind: "refused";
  message: string;
}

/** Not arrived, as far as we know: the whole destination is away, or asks to be left alone. */
export interface Busy {
  kind: "busy";
  message: string;
  retryAfterMs?: number | undefined;
}

/** The server failed at this request, and maybe only at this one. */
export interface Faulty {
  kind: "faulty";
  message: string;
  retryAfterMs?: number | undefined;
}

/** Nothing can arrive before the address, the key or the server is changed. */
export interface Misconfigured {
  kind: "misconfigured";
  message: string;
  status: number;
}

/** What came of a request. */
export type SendResult = Accepted | Refused | Busy | Faulty | Misconfigured;

/** Sends encoded requests. Never throws or rejects. */
export interface Transport {
  send(body: Uint8Array): Promise<SendResult>;
  /** Ends the requests under way; they come out as `busy`. */
  abort(): void;
}

/** Options of {@link createTransport}. */
export interface TransportOptions {
  url: string;
  key: string | undefined;
  fetch: typeof globalThis.fetch;
  now: () => number;
  setTimer: SetTimer;
  /** Milliseconds until an answer has to be complete. */
  requestTimeoutMs: number;
  compression: "gzip" | "none";
  userAgent: string;
  holdsProcess: boolean;
}

const GZIP_FROM_BYTES = 1024;
const PROTOBUF = "application/x-protobuf";
const MAX_MESSAGE = 500;

// The key under which instrumentations of fetch and http look; the name is part of OpenTelemetry's contract.
const SUPPRESS_TRACING = createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

/** Runs `fn` where instrumentations of other people make no spans, and outside of the spans of the app. */
export function untraced<R>(fn: () => R): R {
  return context.with(ROOT_CONTEXT.setValue(SUPPRESS_TRACING, true), fn);
}

/** An error's message with those of its causes: fetch hides the reason (`ECONNREFUSED`) one level down. */
export function messageOf(error: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = error; at !== undefined && at !== null && parts.length < 4; ) {
    const { message, code, cause } = at as { message?: unknown; code?: unknown; cause?: unknown };
    parts.push(String(message || code || at));
    at = cause;
  }
  return parts.join(": ");
}

/** The readable part of an error's body: text, JSON, or the strings in a protobuf `Status`. */
function readable(body: Uint8Array): string {
  const text = new TextDecoder().decode(body.subarray(0, 4 * MAX_MESSAGE));
  return text
    .replace(/[\p{Cc}\uFFFD]+/gu, " ")
    .trim()
    .slice(0, MAX_MESSAGE);
}

function readAccepted(body: Uint8Array, contentType: string): SendResult {
  try {
    const answer = contentType.includes("json")
      ? JSON.parse(new TextDecoder().decode(body) || "{}")
      : ProtobufTraceSerializer.deserializeResponse(body);
    const partial = answer?.partialSuccess;
    const rejected = Number(partial?.rejectedSpans ?? 0);
    return {
      kind: "accepted",
      rejected: Number.isFinite(rejected) ? Math.max(0, rejected) : 0,
      message: String(partial?.errorMessage ?? ""),
    };
  } catch {
    // The status alone says that it arrived; some proxies put a page of their own in the body.
    return { kind: "accepted", rejected: 0, message: "" };
  }
}

/** A transport over `fetch`. */
export function createTransport(options: TransportOptions): Transport {
  const { fetch, now, setTimer } = options;
  const endpoint = `${options.url.replace(/\/+$/, "")}/v1/traces`;
  const underWay = new Set<AbortController>();

  async function exchange(body: Uint8Array, signal: AbortSignal): Promise<SendResult> {
    const headers: Record<string, string> = {
      "content-type": PROTOBUF,
      accept: PROTOBUF,
      "user-agent": options.userAgent,
    };
    if (options.key !== undefined) headers["authorization"] = `Bearer ${options.key}`;
    let payload = body as Uint8Array<ArrayBuffer>;
    if (options.compression === "gzip" && body.length >= GZIP_FROM_BYTES) {
      const packed = await gzip(body);
      if (packed !== undefined) {
        payload = packed;
        headers["content-encoding"] = "gzip";
      }
    }
    // A redirect would turn the POST into a GET, or carry the spans to a place that nobody named.
    const response = await untraced(() =>
      fetch(endpoint, { method: "POST", headers, body: payload, redirect: "manual", signal }),
    );
    const answer = new Uint8Array(await response.arrayBuffer());
    const meaning = statusMeaning(response.status);
    if (meaning === "accepted") return readAccepted(answer, response.headers.get("content-type") ?? "");
    const said = readable(answer);
    const message = `${endpoint} answered ${response.status}${said === "" ? "" : `: ${said}`}`;
    if (meaning === "refused") return { kind: meaning, message };
    if (meaning === "misconfigured") return { kind: meaning, message, status: response.status };
    return {
      kind: meaning,
      message,
      retryAfterMs: parseRetryAfter(response.headers.get("retry-after"), now()),
    };
  }

  return {
    async send(body) {
      const controller = new AbortController();
      underWay.add(controller);
      // Raced, since a fetch that was handed in may not look at its signal.
      const ended = new Promise<SendResult>((resolve) => {
        controller.signal.addEventListener("abort", () => {
          const { reason } = controller.signal;
          resolve({ kind: "busy", message: `${endpoint}: ${messageOf(reason)}` });
        });
      });
      const endLoosening = options.holdsProcess ? undefined : loosenSockets(endpoint, options.userAgent);
      const cancelTimer = setTimer(
        () => controller.abort(new Error(`no answer within ${options.requestTimeoutMs} ms`)),
        options.requestTimeoutMs,
      );
      try {
        return await Promise.race([exchange(body, controller.signal), ended]);
      } catch (error) {
        return { kind: "busy", message: `${endpoint}: ${messageOf(error)}` };
      } finally {
        cancelTimer();
        endLoosening?.();
        underWay.delete(controller);
      }
    },
    abort() {
      for (const controller of underWay) controller.abort(new Error("the request was interrupted"));
    },
  };
}
