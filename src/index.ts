/**
 * The agent's side: makes a program's model calls, tools and rewards visible as spans and delivers them. Runs on Node,
 * Bun, Deno and at the edge.
 *
 * @module
 */
import { adoptProcessRollout } from "./runtime/process-rollout.ts";

export {
  type EmitOptions,
  type EmittedSpan,
  emitAnnotation,
  emitException,
  emitMessage,
  emitObject,
  emitReward,
  emitTool,
  type LinkTarget,
  type RewardOptions,
  type ToolCallRecord,
} from "./capture/emit.ts";
export { type InstrumentOptions, instrument } from "./capture/instrument.ts";
export type { OpenAIOptions } from "./capture/openai/settings.ts";
export { agent, operation } from "./capture/operation.ts";
export { type ToolOptions, tool } from "./capture/tool.ts";
export type { AnyFunction } from "./capture/wrap-function.ts";
export { AglError, type AglErrorCode, type AglErrorOptions } from "./errors.ts";
export type { OtelSpanExporter } from "./export/exporter-sink.ts";
export type { RolloutSpanProcessor, StartedSpan } from "./export/span-processor.ts";
export type { AnySpan } from "./export/span-view.ts";
export type { Attributes, AttributeValue, Json, JsonObject } from "./protocol/json.ts";
export type { RewardValue } from "./protocol/reward.ts";
export type { RolloutConfig, RolloutMode } from "./protocol/rollout.ts";
export { configure, type FlushOptions, flush, shutdown } from "./runtime/configure.ts";
export { type RolloutInfo, type RolloutOptions, type RolloutResult, rollout } from "./runtime/rollout.ts";
export type { ConfigureOptions, DropReport, FlushReport } from "./runtime/settings.ts";
export { createSpanProcessor } from "./runtime/span-processor.ts";
export { bind } from "./trace/scope.ts";

adoptProcessRollout();
