/**
 * Evaluates a selection over rows in memory.
 *
 * @module
 */
import type { Selected } from "./backend.ts";
import type { Condition, Selection } from "./selection.ts";

/** The page of `rows` (in insertion order) that `selection` asks for; rows are given out as they are. */
export function selectFrom<T extends object>(rows: Iterable<T>, selection: Selection): Selected<T> {
  const { must, pool, logic, sort, limit, offset } = selection;
  const matches: T[] = [];
  for (const row of rows) {
    if (!must.every((condition) => holds(row, condition))) continue;
    const chosen =
      pool.length === 0 ||
      (logic === "and"
        ? pool.every((condition) => holds(row, condition))
        : pool.some((condition) => holds(row, condition)));
    if (chosen) matches.push(row);
  }
  if (sort !== null) {
    const missing = sort.kind === "time" ? Number.POSITIVE_INFINITY : sort.kind === "number" ? 0 : "";
    const direction = sort.descending ? -1 : 1;
    const key = (row: T): string | number => (fieldOf(row, sort.field) ?? missing) as string | number;
    matches.sort((a, b) => direction * compare(key(a), key(b)));
  }
  return {
    items: limit === -1 ? matches.slice(offset) : matches.slice(offset, offset + limit),
    total: matches.length,
  };
}

function fieldOf(row: object, field: string): unknown {
  return (row as Record<string, unknown>)[field];
}

function holds(row: object, condition: Condition): boolean {
  const value = fieldOf(row, condition.field);
  if (typeof value !== "string") return false;
  if (condition.op === "exact") return value === condition.value;
  if (condition.op === "contains") return value.includes(condition.value);
  return condition.value.includes(value);
}

// Texts compare by code point, as SQL and Python do; `<` on strings compares UTF-16 units and differs above U+FFFF.
function compare(a: string | number, b: string | number): number {
  if (typeof a === "number" || typeof b === "number") return a < b ? -1 : a > b ? 1 : 0;
  let i = 0;
  while (i < a.length && i < b.length) {
    const x = a.codePointAt(i) as number;
    const y = b.codePointAt(i) as number;
    if (x !== y) return x < y ? -1 : 1;
    i += x > 0xffff ? 2 : 1;
  }
  return a.length - b.length;
}
