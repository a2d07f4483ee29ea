/**
 * The span processor for apps that have a tracer provider of their own.
 *
 * @module
 */
import { createSpanProcessor as create, type RolloutSpanProcessor } from "../export/span-processor.ts";
import { currentScope } from "../trace/scope.ts";
import { runtime } from "./configure.ts";

/**
 * A processor for the app's own tracer provider (OpenTelemetry SDK 1.30, 2.x or 3.x): spans that the app makes inside a
 * rollout go to the store too, with the rollout's ids; all others are left alone. The provider's own exporters are not
 * touched.
 *
 * @example
 * ```ts
 * import { TracerProvider } from "@opentelemetry/sdk-trace";
 * import * as agl from "agentlightning";
 * const provider = new TracerProvider({ spanProcessors: [agl.createSpanProcessor()] });
 * ```
 */
export function createSpanProcessor(): RolloutSpanProcessor {
  return create({ sink: () => runtime().storeSink, currentScope });
}
