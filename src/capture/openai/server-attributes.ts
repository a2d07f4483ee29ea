/**
 * Which service a client talks to, as span attributes.
 *
 * @module
 */
import type { Attributes } from "../../protocol/json.ts";
import { GenAi } from "../../protocol/semconv.ts";

/** Hosts whose provider has a name of its own in the conventions. */
const PROVIDERS: ReadonlyArray<readonly [suffix: string, provider: string]> = [
  [".openai.azure.com", "azure.ai.openai"],
  [".cognitiveservices.azure.com", "azure.ai.openai"],
  [".services.ai.azure.com", "azure.ai.inference"],
  [".amazonaws.com", "aws.bedrock"],
  [".api.aws", "aws.bedrock"],
  ["api.anthropic.com", "anthropic"],
  ["generativelanguage.googleapis.com", "gcp.gemini"],
  ["aiplatform.googleapis.com", "gcp.vertex_ai"],
  ["api.groq.com", "groq"],
  ["api.mistral.ai", "mistral_ai"],
  ["api.deepseek.com", "deepseek"],
  ["api.x.ai", "x_ai"],
];

/** Writes the provider, `otherwise` where its address does not tell, and the address where `baseURL` can be read. */
export function writeServer(attributes: Attributes, baseURL: unknown, otherwise = "openai"): void {
  let provider = otherwise;
  if (typeof baseURL === "string" && URL.canParse(baseURL)) {
    const { hostname, port } = new URL(baseURL);
    provider = PROVIDERS.find(([suffix]) => hostname.endsWith(suffix))?.[1] ?? provider;
    attributes["server.address"] = hostname;
    if (port !== "") attributes["server.port"] = Number(port);
  }
  attributes[GenAi.ProviderName] = provider;
  attributes[GenAi.System] = provider;
}
