/**
 * What an algorithm puts into the store for agents to use: model endpoints and prompts.
 *
 * @module
 */
import type { JsonObject } from "./json.ts";

/** A model endpoint. */
export interface LlmResource {
  resource_type: "llm";
  /** Base URL of an OpenAI-compatible server. */
  endpoint: string;
  model: string;
  api_key?: string | null;
  sampling_parameters: JsonObject;
}

/** A model endpoint behind a proxy that wants the rollout and attempt in its path. */
export interface ProxyLlmResource extends Omit<LlmResource, "resource_type"> {
  resource_type: "proxy_llm";
}

/** A prompt. */
export interface PromptTemplateResource {
  resource_type: "prompt_template";
  template: string;
  engine: "jinja" | "f-string" | "poml";
}

/** One resource; told apart by `resource_type`. */
export type Resource = LlmResource | ProxyLlmResource | PromptTemplateResource;

/** Resources by name. */
export type NamedResources = Record<string, Resource>;

/** One version of a set of resources. Times are seconds since the epoch. */
export interface ResourcesUpdate {
  resources_id: string;
  create_time: number;
  update_time: number;
  /** 1 when created; plus 1 at each update. */
  version: number;
  resources: NamedResources;
}
