/**
 * Reads answers of the embeddings endpoint. The vectors themselves are not kept.
 *
 * @module
 */
import { type Answer, readHead } from "./answer.ts";
import type { Loose } from "./shape.ts";

/** Reads a list of embeddings. */
export function readEmbeddings(answer: Answer, value: Loose): void {
  readHead(answer, value);
  if (Array.isArray(value["data"])) answer.embeddings = value["data"].length;
}
