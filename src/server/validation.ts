/**
 * Query strings and JSON bodies against their schemas; a refusal names each place that does not fit.
 *
 * @module
 */
import type { z } from "zod";
import { SCHEMAS, type SchemaName, SORT_FIELDS } from "../protocol/schemas.ts";
import { type Refusal, refuse } from "./refusal.ts";

/** A value that fits, or why it does not. */
export type Checked = { value: unknown } | { refusal: Refusal };

/** Parameters that may be given many times; each time adds to a list. */
const LISTS: ReadonlySet<string> = new Set(["status_in", "rollout_id_in", "types", "rollout_id"]);
const INTEGERS: ReadonlySet<string> = new Set(["limit", "offset"]);

/** Checks the query string's parameters. Of a parameter given twice the last counts, unless it is a list. */
export function checkQuery(name: SchemaName, given: Record<string, string[]>): Checked {
  const values: Record<string, unknown> = {};
  for (const [key, texts] of Object.entries(given)) {
    const last = texts.at(-1) as string;
    if (isList(name, key)) values[key] = texts;
    else values[key] = INTEGERS.has(key) && /^[+-]?\d+$/.test(last) ? Number(last) : last;
  }
  return check(name, values, "query");
}

/** Checks a JSON body; an empty one stands for `null` where the body is optional. */
export function checkBody(name: SchemaName, text: string, optional: boolean): Checked {
  if (text.trim() === "") {
    if (optional) return { value: null };
    return { refusal: refuse(422, [{ type: "missing", loc: ["body"], msg: "A JSON body is required" }]) };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const msg = error instanceof Error ? error.message : String(error);
    return { refusal: refuse(422, [{ type: "json_invalid", loc: ["body"], msg }]) };
  }
  if (value === null && optional) return { value };
  return check(name, value, "body");
}

function isList(name: SchemaName, key: string): boolean {
  return LISTS.has(key) && (key !== "rollout_id" || name === "EventsQuery");
}

function check(name: SchemaName, value: unknown, place: "query" | "body"): Checked {
  const result = (SCHEMAS[name] as z.ZodType).safeParse(value);
  if (!result.success) {
    const detail = result.error.issues.map((issue) => ({
      type: issue.code,
      loc: [place, ...issue.path],
      msg: issue.message,
    }));
    return { refusal: refuse(422, detail) };
  }
  const fault = name in SORT_FIELDS ? pagingFault(name as keyof typeof SORT_FIELDS, result.data) : undefined;
  return fault === undefined ? { value: result.data } : { refusal: refuse(400, fault) };
}

function pagingFault(name: keyof typeof SORT_FIELDS, data: unknown): string | undefined {
  const { sort_by, limit, offset } = data as { sort_by: string | null; limit: number; offset: number };
  const fields: readonly string[] = SORT_FIELDS[name];
  if (sort_by !== null && !fields.includes(sort_by)) {
    return `sort_by cannot be ${JSON.stringify(sort_by)}; it can be one of ${fields.join(", ")}.`;
  }
  if (limit === 0 || limit < -1) return `limit cannot be ${limit}; it is at least 1, or -1 for all.`;
  if (offset < 0) return `offset cannot be ${offset}; it is at least 0.`;
  return undefined;
}
