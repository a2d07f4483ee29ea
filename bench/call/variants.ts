/**
 * The ways to make the same call: bare, with this package, with others.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import OpenAI from "openai";
import * as agl from "../../src/index.ts";
import type { Load } from "./wrappers.ts";

/** A way to make calls. Whatever it records is encoded for the wire and then thrown away. */
export interface Variant {
  /** A client that calls `fetch`. */
  client(fetch: typeof globalThis.fetch): OpenAI;
  /** Runs `fn` where its calls are recorded. */
  inside<R>(fn: () => Promise<R>): Promise<R>;
  /** Delivers what was recorded so far. */
  drain(): Promise<void>;
  /** Spans delivered so far; undefined where it cannot be told. */
  delivered(): number | undefined;
}

type Make = (load: Load) => Promise<Variant>;

const options = (fetch: typeof globalThis.fetch) => ({ apiKey: "none", baseURL: "http://model/v1", fetch });

const bare: Make = async () => ({
  client: (fetch) => new OpenAI(options(fetch)),
  inside: (fn) => fn(),
  drain: async () => {},
  delivered: () => undefined,
});

/** Bare, in a context that follows the calls: what no recording that knows its rollout can be without. */
const context: Make = async (load) => {
  const storage = new AsyncLocalStorage<object>();
  return { ...(await bare(load)), inside: (fn) => storage.run({}, async () => await fn()) };
};

/** A store that takes everything: it answers at once and keeps nothing. */
export async function nullStore(input: unknown): Promise<Response> {
  const url = String(input instanceof Request ? input.url : input);
  if (url.endsWith("/v1/traces")) {
    return new Response(null, { headers: { "content-type": "application/x-protobuf" } });
  }
  const attempt = {
    rollout_id: "ro-1f5e0c",
    attempt_id: "at-77a01b",
    sequence_id: 1,
    start_time: 1_780_000_000,
    end_time: null,
    status: "preparing",
    worker_id: null,
    last_heartbeat_time: null,
    metadata: {},
  };
  const rollout = {
    rollout_id: attempt.rollout_id,
    input: "task",
    start_time: attempt.start_time,
    end_time: null,
    mode: null,
    resources_id: null,
    status: "preparing",
    config: {
      timeout_seconds: null,
      unresponsive_seconds: null,
      max_attempts: 1,
      retry_condition: [],
    },
    metadata: {},
    attempt,
  };
  return Response.json(url.includes("/attempts/") ? attempt : rollout);
}

const ours: Make = async () => {
  agl.configure({ storeUrl: "http://127.0.0.1:4747", fetch: nullStore as typeof fetch });
  let sent = 0;
  return {
    client: (fetch) => agl.instrument(new OpenAI(options(fetch))),
    async inside(fn) {
      const { value, stored } = await agl.rollout({ input: "task" }, fn);
      if (!stored) throw new Error("the rollout was not started at the store");
      return value;
    },
    async drain() {
      const report = await agl.flush();
      if (report.failed + report.pending > 0) throw new Error(`spans were lost: ${JSON.stringify(report)}`);
      sent += report.sent;
    },
    delivered: () => sent,
  };
};

/** Instrumented, but never inside a rollout. */
const outside: Make = async (load) => ({ ...(await ours(load)), inside: (fn) => fn() });

interface OtelInstrumentation {
  manuallyInstrument(target: unknown): void;
  setTracerProvider(provider: unknown): void;
}

/** An instrumentation for OpenTelemetry's own SDK, with its batch processor, in the context of an open span. */
async function withOtel(load: Load, module: string): Promise<Variant> {
  const { OpenAIInstrumentation } = await load<{ OpenAIInstrumentation: new () => OtelInstrumentation }>(
    module,
  );
  const { OpenAI: Class } = await load<{ OpenAI: typeof OpenAI }>("openai");
  const api = await load<typeof import("@opentelemetry/api")>("@opentelemetry/api");
  const sdk = await load<{
    BasicTracerProvider: new (
      options: object,
    ) => {
      getTracer(name: string): import("@opentelemetry/api").Tracer;
      forceFlush(): Promise<void>;
    };
    BatchSpanProcessor: new (exporter: object, options: object) => object;
  }>("@opentelemetry/sdk-trace-base");
  const { ProtobufTraceSerializer } = await load<typeof import("@opentelemetry/otlp-transformer")>(
    "@opentelemetry/otlp-transformer",
  );
  const hooks = await load<{
    AsyncLocalStorageContextManager: new () => import("@opentelemetry/api").ContextManager & {
      enable(): import("@opentelemetry/api").ContextManager;
    };
  }>("@opentelemetry/context-async-hooks");
  let sent = 0;
  const exporter = {
    export(spans: never[], done: (result: { code: number }) => void) {
      sent += spans.length;
      if (ProtobufTraceSerializer.serializeRequest(spans) === undefined)
        throw new Error("nothing was encoded");
      done({ code: 0 });
    },
    shutdown: async () => {},
  };
  const provider = new sdk.BasicTracerProvider({
    spanProcessors: [new sdk.BatchSpanProcessor(exporter, { maxQueueSize: 100_000 })],
    spanLimits: { attributeCountLimit: 100_000 },
  });
  api.trace.setGlobalTracerProvider(provider);
  api.context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable());
  const instrumentation = new OpenAIInstrumentation();
  instrumentation.setTracerProvider(provider);
  instrumentation.manuallyInstrument(Class);
  const tracer = provider.getTracer("bench");
  return {
    client: (fetch) => new Class(options(fetch)),
    inside: (fn) =>
      tracer.startActiveSpan("rollout", async (span) => {
        try {
          return await fn();
        } finally {
          span.end();
        }
      }),
    drain: () => provider.forceFlush(),
    delivered: () => sent,
  };
}

const openinference: Make = (load) => withOtel(load, "@arizeai/openinference-instrumentation-openai");

const traceloop: Make = (load) => withOtel(load, "@traceloop/instrumentation-openai");

/** All variants by name. */
export const VARIANTS = { bare, context, ours, outside, openinference, traceloop } satisfies Record<
  string,
  Make
>;

/** Name of a variant. */
export type VariantName = keyof typeof VARIANTS;
