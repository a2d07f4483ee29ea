/**
 * What a caller of `instrument` can choose for an OpenAI client.
 *
 * @module
 */

/** Options of an instrumented OpenAI client. */
export interface OpenAIOptions {
  /** False leaves the calls alone: nothing is recorded. Default true; with {@link OpenAIOptions.proxy}, false. */
  capture?: boolean;
  /**
   * Whether to ask the model server for token ids and log probabilities (`return_token_ids`, `logprobs`, and
   * `stream_options.include_usage`, whose chunk stays hidden). `"auto"` (default): inside training rollouts, unless
   * the service is known to refuse unknown fields (OpenAI's own, Azure, Bedrock and other hosted ones). `true`: in every recorded call.
   */
  tokenIds?: "auto" | boolean;
  /** A proxy that captures the calls: the client is pointed at it, and captures nothing itself. */
  proxy?: { baseURL: string; apiKey?: string };
}
