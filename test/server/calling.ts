/**
 * A server's application, and requests to it without a socket.
 *
 * @module
 */
import { type AppOptions, createApp } from "../../src/server/app.ts";
import type { LocalStore } from "../../src/store/interface.ts";
import { openMemoryStore } from "../../src/store/memory-store.ts";

/** An answer whose body was read. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
}

/** An application over a memory store, with calls that read the answer. */
export async function openApp(options: Omit<AppOptions, "store"> & { store?: LocalStore } = {}) {
  const store = options.store ?? (await openMemoryStore());
  const app = createApp({ ...options, store });
  const call = async (path: string, init?: RequestInit): Promise<Answer> => {
    const response = await app.request(path, init);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") && text !== "";
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
  return {
    store,
    app,
    call,
    get: (path: string, headers?: Record<string, string>) => call(path, headers && { headers }),
    /** Posts JSON; without a body, nothing. */
    post: (path: string, body?: unknown, headers: Record<string, string> = {}) =>
      call(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
  };
}

/** A span with every key that upstream asks for. */
export function wholeSpan(rolloutId: string, attemptId: string, spanId: string, sequenceId: number) {
  const trace_id = "0af7651916cd43dd8448eb211c80319c";
  return {
    rollout_id: rolloutId,
    attempt_id: attemptId,
    sequence_id: sequenceId,
    trace_id,
    span_id: spanId,
    parent_id: null,
    name: "step",
    status: { status_code: "OK", description: null },
    attributes: { count: 1, ids: [1, 2, 3], text: "x", ratio: 0.5 },
    events: [{ name: "event", attributes: { a: true }, timestamp: 3.5 }],
    links: [
      {
        context: { trace_id, span_id: "b".repeat(16), is_remote: false, trace_state: {} },
        attributes: null,
      },
    ],
    start_time: 1.25,
    end_time: 2.5,
    context: { trace_id, span_id: spanId, is_remote: false, trace_state: {} },
    parent: null,
    resource: { attributes: { "service.name": "test" }, schema_url: "" },
  };
}
