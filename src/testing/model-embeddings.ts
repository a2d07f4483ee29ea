/**
 * The format of `/v1/embeddings`.
 *
 * @module
 */
import type { Json, JsonObject } from "../protocol/json.ts";
import { encode } from "./toy-tokenizer.ts";

const DIMENSIONS = 8;

/** A list of token ids, or a text, or many of either. */
function inputs(input: Json | undefined): number[][] {
  const isIds = (value: Json): value is number[] => Array.isArray(value) && typeof value[0] === "number";
  const one = (value: Json): number[] => (isIds(value) ? value : encode(String(value)));
  if (Array.isArray(input) && !isIds(input)) return input.map(one);
  return input === undefined ? [] : [one(input)];
}

/** A vector that only `ids` decide, of values that a float32 holds exactly. */
function vectorOf(ids: readonly number[], dimensions: number): number[] {
  return Array.from({ length: dimensions }, (_, axis) => {
    let sum = axis + 1;
    for (const id of ids) sum = (sum * 31 + id) % 2048;
    return (sum - 1024) / 1024;
  });
}

/** The answer to a request; with `encoding_format: "base64"` each vector is packed as little-endian float32. */
export function embeddingsBody(body: JsonObject, model: string): JsonObject {
  const dimensions = typeof body["dimensions"] === "number" ? body["dimensions"] : DIMENSIONS;
  const all = inputs(body["input"]);
  const tokens = all.reduce((sum, ids) => sum + ids.length, 0);
  return {
    object: "list",
    model,
    data: all.map((ids, index) => {
      const vector = vectorOf(ids, dimensions);
      const packed = Buffer.from(new Float32Array(vector).buffer).toString("base64");
      return {
        object: "embedding",
        index,
        embedding: body["encoding_format"] === "base64" ? packed : vector,
      };
    }),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}
