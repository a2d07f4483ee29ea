/**
 * Names of spans and attributes. Those that start with `agentlightning.` and the token attributes are upstream's
 * (`agentlightning.semconv` of the Python package 0.3); those that start with `gen_ai.` are OpenTelemetry's GenAI
 * conventions, kept as strings because the packaged constants are deprecated from release to release.
 *
 * @module
 */

/** Names of the spans that this package makes. */
export const SpanName = {
  /** A model call. Upstream's adapters select on `openai\.chat\.completion`. */
  ModelCall: "openai.chat.completion",
  /** A call of the embeddings endpoint, which no adapter trains on. */
  Embedding: "openai.embedding",
  Annotation: "agentlightning.annotation",
  Message: "agentlightning.message",
  Object: "agentlightning.object",
  Exception: "agentlightning.exception",
  Operation: "agentlightning.operation",
  /** The single root of a rollout's spans in this process. */
  Rollout: "agentlightning.rollout",
} as const;

/** Attributes of Agent Lightning. */
export const Agl = {
  RolloutId: "agentlightning.rollout_id",
  AttemptId: "agentlightning.attempt_id",
  SequenceId: "agentlightning.span_sequence_id",
  TracerName: "agentlightning.tracer.name",
  Reward: "agentlightning.reward",
  Link: "agentlightning.link",
  Tag: "agentlightning.tag",
  MessageBody: "agentlightning.message.body",
  ObjectType: "agentlightning.object.type",
  ObjectLiteral: "agentlightning.object.literal",
  ObjectJson: "agentlightning.object.json",
  OperationName: "agentlightning.operation.name",
  OperationInput: "agentlightning.operation.input",
  OperationOutput: "agentlightning.operation.output",
  /** How the span ended; see {@link Outcome}. */
  Outcome: "agentlightning.outcome",
  /** True on a span that came after its rollout had ended. */
  Late: "agentlightning.late",
  /** Why the token ids of this call must not be trained on. */
  TokenMismatch: "agentlightning.tokens.mismatch",
  /** Which helper of the vendor's SDK made the call (`parse`, `stream`, `runTools`). */
  Helper: "agentlightning.helper",
} as const;

/** Attributes that upstream's triplet adapters read from a model call's span. */
export const Tokens = {
  Prompt: "prompt_token_ids",
  Response: "response_token_ids",
  Logprobs: "logprobs.content",
} as const;

/** OpenTelemetry GenAI attributes, and the older flattened ones that upstream's readers use. */
export const GenAi = {
  OperationName: "gen_ai.operation.name",
  ProviderName: "gen_ai.provider.name",
  System: "gen_ai.system",
  RequestModel: "gen_ai.request.model",
  RequestStream: "gen_ai.request.stream",
  ResponseId: "gen_ai.response.id",
  ResponseModel: "gen_ai.response.model",
  FinishReasons: "gen_ai.response.finish_reasons",
  InputTokens: "gen_ai.usage.input_tokens",
  OutputTokens: "gen_ai.usage.output_tokens",
  PromptTokens: "gen_ai.usage.prompt_tokens",
  CompletionTokens: "gen_ai.usage.completion_tokens",
  Prompt: "gen_ai.prompt",
  Completion: "gen_ai.completion",
  Functions: "gen_ai.request.functions",
  AgentName: "gen_ai.agent.name",
  ToolName: "gen_ai.tool.name",
  ToolType: "gen_ai.tool.type",
  ToolCallId: "gen_ai.tool.call.id",
  ToolArguments: "gen_ai.tool.call.arguments",
  ToolResult: "gen_ai.tool.call.result",
} as const;

/** The attribute that upstream's readers look at first for an agent's name. */
export const AGENT_NAME = "agent.name";

/**
 * How a span ended. `ok`: answered. `error`: failed. `aborted`: ended by the caller's signal. `cancelled`: the
 * consumer of a stream left early. `truncated`: the answer hit the token limit. `superseded`: a later attempt of the
 * same call replaced it. `incomplete`: still open when the rollout ended.
 */
export type Outcome = "ok" | "error" | "aborted" | "cancelled" | "truncated" | "superseded" | "incomplete";
