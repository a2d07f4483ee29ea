/**
 * Asking the model server for what training needs and the user did not ask for: token ids, log probabilities, and
 * the usage of a stream, by which the ids are checked.
 *
 * @module
 */
import type { Operation } from "./operations.ts";
import { isObject, type Loose } from "./shape.ts";

/** Hosted services, which refuse a request with a field that they do not know. */
const HOSTED = [
  "api.openai.com",
  ".api.openai.com",
  ".openai.azure.com",
  ".cognitiveservices.azure.com",
  ".services.ai.azure.com",
  ".amazonaws.com",
  ".api.aws",
  "api.anthropic.com",
  "api.groq.com",
  "api.mistral.ai",
  "generativelanguage.googleapis.com",
];

/** True when the service behind `baseURL` is known to refuse unknown fields. */
export function isHosted(baseURL: string): boolean {
  const { hostname } = URL.canParse(baseURL) ? new URL(baseURL) : { hostname: "" };
  return HOSTED.some((host) => hostname === host || (host.startsWith(".") && hostname.endsWith(host)));
}

/** A body that asks for more than the user's. */
export interface ExtendedBody {
  body: Loose;
  /** True when the chunk with the usage was not asked for by the user, who must not see it. */
  hideUsage: boolean;
}

/**
 * A copy of `body` that asks for token ids; undefined where this cannot be asked, or nothing has to be added. What the
 * user has set stays. The copy is made only here: openai 7 finds the observers of a helper by the body's identity.
 */
export function askForTokens(operation: Operation, body: Loose): ExtendedBody | undefined {
  if (operation.logprobs === undefined) return undefined;
  const prototype: unknown = Object.getPrototypeOf(body);
  // A class or a `toJSON` would be lost in the copy.
  if ((prototype !== Object.prototype && prototype !== null) || typeof body["toJSON"] === "function")
    return undefined;
  const copy: Loose = { ...body };
  copy["return_token_ids"] ??= true;
  copy["logprobs"] ??= operation.logprobs;
  let hideUsage = false;
  if (body["stream"] === true) {
    const options = isObject(body["stream_options"]) ? body["stream_options"] : undefined;
    if (options?.["include_usage"] === undefined) {
      copy["stream_options"] = { ...options, include_usage: true };
      hideUsage = true;
    }
  }
  return { body: copy, hideUsage };
}
