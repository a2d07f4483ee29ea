/**
 * What belongs to the Vercel AI SDK, told by its shape: nothing of it is imported.
 *
 * @module
 */
import { isObject, type Loose } from "../openai/shape.ts";

/** The methods of models that ask a server, and what kind of call each is. */
export const MODEL_METHODS = {
  doGenerate: "language",
  doStream: "language",
  doEmbed: "embedding",
  doRerank: "reranking",
} as const;

/** Kind of a model, and of its calls. */
export type ModelKind = (typeof MODEL_METHODS)[keyof typeof MODEL_METHODS];

/** True for an object or a function, whose properties can be looked at. */
export function hasProperties(value: unknown): value is Loose {
  return isObject(value) || typeof value === "function";
}

/** True for a language, embedding or reranking model of any version of the specification. */
export function isModel(value: unknown): value is Loose {
  if (!isObject(value)) return false;
  const { doGenerate, doStream, doEmbed, doRerank } = value;
  const both = typeof doGenerate === "function" && typeof doStream === "function";
  return both || typeof doEmbed === "function" || typeof doRerank === "function";
}

/** True for a provider: something that gives models by their ids. */
export function isProvider(value: unknown): value is Loose {
  return hasProperties(value) && typeof value["languageModel"] === "function";
}

/** True for the module `ai`, or an object with its functions. */
export function isModule(value: unknown): value is Loose {
  return (
    isObject(value) &&
    typeof value["generateText"] === "function" &&
    typeof value["streamText"] === "function"
  );
}
