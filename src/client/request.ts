/**
 * JSON requests to a store, repeated where that is safe.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import { type Failure, failureOfNetwork, failureOfResponse } from "./failure.ts";
import { timerSleep, withLinkedSignal } from "./linked-signal.ts";

/** How failed requests are repeated. The delay before try n is random between 0 and `min(maxDelayMs, baseDelayMs * 2^n)`. */
export interface RetryPolicy {
  /** Tries in all; 1: never repeat. 6 by default. */
  tries: number;
  /** 250 by default. */
  baseDelayMs: number;
  /** 8 000 by default. */
  maxDelayMs: number;
  /** Milliseconds that one call may take with all its tries; 60 000 by default. A longer `Retry-After` ends it. */
  budgetMs: number;
}

/** What a client needs from its surroundings. */
export interface TransportOptions {
  /** Root of the store, without `/v1/agl`. */
  url: string;
  /** Sent as bearer token. */
  key?: string | undefined;
  /** `globalThis.fetch` by default, looked up at each request. */
  fetch?: typeof fetch | undefined;
  /** Milliseconds for one try; 30 000 by default. */
  timeoutMs?: number | undefined;
  retry?: Partial<RetryPolicy> | undefined;
  /** Randomness of the delays, 0 to 1; `Math.random` by default. */
  random?: (() => number) | undefined;
  /** Milliseconds from any origin, never falling; `performance.now` by default. */
  now?: (() => number) | undefined;
  /** Waits between tries; rejects when the signal fires. Timers by default. */
  sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

/** One call. */
export interface Call {
  method: "GET" | "POST";
  /** From `/v1/agl` on, with a query string where there is one. */
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** False when a second arrival would do the work twice; it is then repeated only when the first did not arrive. */
  repeatable: boolean;
  /** Shortens the budget of this call. */
  budgetMs?: number;
  signal?: AbortSignal | undefined;
}

/** Sends calls to one store. */
export interface Transport {
  readonly url: string;
  readonly timeoutMs: number;
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves with the parsed body of a 2xx answer; rejects with an AglError. */
  send(call: Call): Promise<unknown>;
  /** Ends all calls with `closed`, and refuses new ones. */
  close(): void;
}

const API = "/v1/agl";

function rootOf(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch (cause) {
    throw new AglError("invalid_argument", `"${url}" is no URL; give one such as http://127.0.0.1:4747.`, {
      cause,
    });
  }
  if (!/^https?:$/.test(parsed.protocol)) {
    throw new AglError("invalid_argument", `${url} is not an http or https URL.`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new AglError(
      "invalid_argument",
      "The store's URL must not hold credentials; give the key as `key`.",
    );
  }
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, "")}`;
}

function headersOf(key: string | undefined): Record<string, string> {
  const headers: Record<string, string> = { accept: "application/json", "content-type": "application/json" };
  if (key === undefined) return headers;
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new AglError(
      "invalid_argument",
      "The key must be printable ASCII without spaces; this one is not.",
    );
  }
  headers["authorization"] = `Bearer ${key}`;
  return headers;
}

function bodyOf(call: Call, request: string): string | undefined {
  try {
    return JSON.stringify(call.body);
  } catch (cause) {
    throw new AglError("invalid_argument", `${request}: what was given is not JSON (${String(cause)}).`, {
      cause,
    });
  }
}

/** Makes the transport of one store. Throws `invalid_argument` for a URL that cannot be used. */
export function createTransport(options: TransportOptions): Transport {
  const root = rootOf(options.url);
  const policy: RetryPolicy = {
    tries: 6,
    baseDelayMs: 250,
    maxDelayMs: 8_000,
    budgetMs: 60_000,
    ...options.retry,
  };
  const timeoutMs = options.timeoutMs ?? 30_000;
  const random = options.random ?? Math.random;
  const now = options.now ?? (() => performance.now());
  const sleep = options.sleep ?? timerSleep;
  const headers = headersOf(options.key);
  const closing = new AbortController();

  /** The error that the end of `signal` stands for, when it has ended. */
  function ended(signal: AbortSignal | undefined, request: string): AglError | undefined {
    if (closing.signal.aborted) return new AglError("closed", `${request} failed: the client is closed.`);
    if (!signal?.aborted) return undefined;
    return new AglError("aborted", `${request} was aborted by the caller.`, { cause: signal.reason });
  }

  async function attempt(
    call: Call,
    request: string,
    body: string | undefined,
    limitMs: number,
  ): Promise<{ value: unknown } | Failure> {
    return withLinkedSignal([call.signal, closing.signal], async (controller) => {
      let timedOut = false;
      const timer = setTimeout(() => {
        timedOut = true;
        controller.abort();
      }, limitMs);
      try {
        const response = await (options.fetch ?? fetch)(`${root}${API}${call.path}`, {
          method: call.method,
          headers: { ...headers, ...call.headers },
          signal: controller.signal,
          redirect: "manual",
          ...(body === undefined ? {} : { body }),
        });
        const text = await response.text();
        if (!response.ok) return failureOfResponse(request, response, text);
        try {
          return { value: JSON.parse(text) as unknown };
        } catch (cause) {
          const type = response.headers.get("content-type") ?? "no content type";
          const message = `${request} answered ${response.status} without JSON (${type}). Check that the URL is the root of a LightningStore.`;
          const error = new AglError("unsupported", message, { cause, status: response.status });
          return { error, transient: false, untouched: false };
        }
      } catch (thrown) {
        if (timedOut) {
          const message = `${request} gave no answer within ${limitMs} ms.`;
          return {
            error: new AglError("timeout", message, { cause: thrown }),
            transient: true,
            untouched: false,
          };
        }
        return failureOfNetwork(request, thrown);
      } finally {
        clearTimeout(timer);
      }
    });
  }

  async function pause(ms: number, signal: AbortSignal | undefined, request: string): Promise<void> {
    try {
      await withLinkedSignal([signal, closing.signal], (controller) => sleep(ms, controller.signal));
    } catch (cause) {
      throw ended(signal, request) ?? cause;
    }
  }

  return {
    url: root,
    timeoutMs,
    now,
    sleep: (ms, signal) => pause(ms, signal, "The wait"),
    async send(call) {
      const request = `${call.method} ${root}${API}${call.path}`;
      const body = bodyOf(call, request);
      const start = now();
      const budgetMs = Math.min(policy.budgetMs, call.budgetMs ?? Number.POSITIVE_INFINITY);
      for (let tries = 1; ; tries++) {
        const before = ended(call.signal, request);
        if (before !== undefined) throw before;
        const left = budgetMs - (now() - start);
        const result = await attempt(call, request, body, Math.max(1, Math.min(timeoutMs, left)));
        if ("value" in result) return result.value;
        const after = ended(call.signal, request);
        if (after !== undefined) throw after;
        const { error, transient, untouched, retryAfterMs } = result;
        if (!transient) throw error;
        if (!call.repeatable && !untouched) {
          throw new AglError(
            error.code,
            `${error.message} It was not sent again: the server may have carried it out already.`,
            {
              cause: error,
              retryable: false,
              ...(error.status === undefined ? {} : { status: error.status }),
            },
          );
        }
        const jitter = random() * Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (tries - 1));
        const delay = Math.max(jitter, retryAfterMs ?? 0);
        if (tries >= policy.tries || now() - start + delay >= budgetMs) {
          if (tries === 1) throw error;
          throw new AglError(error.code, `${error.message} (${tries} tries)`, {
            cause: error,
            ...(error.status === undefined ? {} : { status: error.status }),
          });
        }
        await pause(delay, call.signal, request);
      }
    },
    close() {
      closing.abort();
    },
  };
}
