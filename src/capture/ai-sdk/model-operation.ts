/**
 * How the request and the answer of a model call are read: by the rules of the model's specification, or by those of
 * what went over the wire.
 *
 * @module
 */
import { SpanName } from "../../protocol/semconv.ts";
import { OPERATIONS, type Operation } from "../openai/operations.ts";
import { chatRequest, embeddingRequest } from "../openai/request-attributes.ts";
import { isObject, type Loose } from "../openai/shape.ts";
import { askForTokens } from "../openai/token-request.ts";
import type { ModelKind } from "./kinds.ts";
import { readSpecEmbeddings, readSpecPart, readSpecResult } from "./spec-answer.ts";

const language = {
  path: [],
  name: "chat",
  span: { name: SpanName.ModelCall, client: true },
  request: chatRequest,
  whole: readSpecResult,
  chunk: readSpecPart,
  keepsBody: true,
} satisfies Operation;

/** Operations by the models' specification. */
export const SPEC_OPERATIONS: Readonly<Record<ModelKind, Operation>> = {
  language,
  embedding: {
    ...language,
    name: "embeddings",
    span: { name: SpanName.Embedding, client: true },
    request: embeddingRequest,
    whole: readSpecEmbeddings,
  },
  reranking: {
    ...language,
    name: "rerank",
    span: { name: "rerank", client: true },
    request: embeddingRequest,
    whole() {},
  },
};

/** The operation whose answer `body` is. */
export function operationOf(body: Loose): Operation | undefined {
  const { choices, object } = body;
  if (Array.isArray(choices)) {
    const name = isObject(choices[0]) && "message" in choices[0] ? "chat" : "text_completion";
    return OPERATIONS.find((operation) => operation.name === name);
  }
  if (object === "response") return OPERATIONS.find(({ path }) => path[0] === "responses");
  if (object === "list" && Array.isArray(body["data"])) {
    return OPERATIONS.find(({ name }) => name === "embeddings");
  }
  return undefined;
}

/** `json` with what asks for token ids; what the user has set stays. */
export function withTokens(
  operation: Operation,
  json: string,
): { json: string; hideUsage: boolean } | undefined {
  const body: unknown = JSON.parse(json);
  const extended = isObject(body) ? askForTokens(operation, body) : undefined;
  return extended && { json: JSON.stringify(extended.body), hideUsage: extended.hideUsage };
}
