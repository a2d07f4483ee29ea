/**
 * Results as JSON answers. A long page is written piece by piece: one string of it could be longer than a string can be.
 *
 * @module
 */
import type { Context } from "hono";
import type { Page } from "../protocol/rollout.ts";

/** Items of a page that are written at once. */
const PIECE = 256;

/** The answer with `result` as its body. */
export function replyJson(c: Context, result: unknown, status: 200 | 201): Response {
  if (!isLongPage(result)) return c.json(result as object, status);
  c.header("content-type", "application/json");
  return c.body(pieces(result), status);
}

function isLongPage(result: unknown): result is Page<unknown> {
  const items = (result as Partial<Page<unknown>> | null)?.items;
  return Array.isArray(items) && items.length > PIECE;
}

function pieces(page: Page<unknown>): ReadableStream<Uint8Array> {
  const { items, ...rest } = page;
  const encoder = new TextEncoder();
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const piece = items.slice(next, next + PIECE).map((item) => JSON.stringify(item));
      const text = `${next === 0 ? '{"items":[' : ","}${piece.join(",")}`;
      next += PIECE;
      if (next < items.length) return controller.enqueue(encoder.encode(text));
      controller.enqueue(encoder.encode(`${text}],${JSON.stringify(rest).slice(1)}`));
      controller.close();
    },
  });
}
