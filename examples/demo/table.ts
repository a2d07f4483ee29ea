/**
 * The demo's table, made from what the store gave back.
 *
 * @module
 */
import { readReward } from "../../src/protocol/reward.ts";
import { AGENT_NAME, SpanName, Tokens } from "../../src/protocol/semconv.ts";
import type { Span } from "../../src/protocol/span.ts";
import type { StoredRollout } from "./read-back.ts";

const HEAD = ["rollout", "problem", "planner", "solver", "tools", "tokens in", "out", "reward"];
/** Characters of a problem's text: as many as the line's width leaves, between these. */
const PROBLEM_WIDTH = { least: 12, most: 44 };
const PROBLEM = 1;
const GAP = "  ";
/** Columns of words; the others are numbers and stand to the right. */
const LEFT = new Set([0, 1, 7]);

function count(spans: readonly Span[], attribute: string): number {
  return spans.reduce((sum, span) => {
    const ids = span.attributes[attribute];
    return sum + (Array.isArray(ids) ? ids.length : 0);
  }, 0);
}

function shorten(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

function counts({ spans }: StoredRollout): number[] {
  const calls = spans.filter((span) => span.name === SpanName.ModelCall);
  const of = (agent: string) => calls.filter((span) => span.attributes[AGENT_NAME] === agent).length;
  const tools = spans.filter((span) => span.name.startsWith("execute_tool ")).length;
  return [of("planner"), of("solver"), tools, count(calls, Tokens.Prompt), count(calls, Tokens.Response)];
}

function rewards({ spans }: StoredRollout): Array<{ name: string; value: number }> {
  return spans.flatMap(readReward);
}

function showReward(stored: StoredRollout): string {
  return rewards(stored)
    .map(({ name, value }, index) => (index === 0 ? String(value) : `(${name} ${value.toFixed(2)})`))
    .join(" ");
}

/** The table: a line a rollout, and their sums; `width` is the number of characters that a line may have. */
export function table(all: readonly StoredRollout[], width = 120): string {
  const rows = all.map((stored) => [
    stored.rollout.rollout_id,
    String(stored.rollout.input),
    ...counts(stored).map(String),
    showReward(stored),
  ]);
  const sums = all.map(counts).reduce((a, b) => a.map((value, i) => value + b[i]!), [0, 0, 0, 0, 0]);
  const mean =
    all.reduce((sum, stored) => sum + (rewards(stored)[0]?.value ?? 0), 0) / Math.max(1, all.length);
  const total = [`${all.length} rollouts`, "", ...sums.map(String), `mean ${mean.toFixed(2)}`];
  const widths = HEAD.map((head, i) =>
    Math.max(head.length, ...[...rows, total].map((row) => row[i]!.length)),
  );
  const others = widths.reduce((sum, one) => sum + one + GAP.length, -widths[PROBLEM]! - GAP.length);
  const room = Math.min(PROBLEM_WIDTH.most, Math.max(PROBLEM_WIDTH.least, width - others));
  widths[PROBLEM] = Math.min(widths[PROBLEM]!, room);
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) =>
        LEFT.has(i) ? shorten(cell, widths[i]!).padEnd(widths[i]!) : cell.padStart(widths[i]!),
      )
      .join(GAP)
      .trimEnd();
  const rule = widths.map((one) => "─".repeat(one)).join(GAP);
  return [line(HEAD), rule, ...rows.map(line), rule, line(total)].join("\n");
}
