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
const PROBLEM_WIDTH = 38;
/** Columns of words; the others are numbers and stand to the right. */
const LEFT = new Set([0, 1, 7]);

function count(spans: readonly Span[], attribute: string): number {
  return spans.reduce((sum, span) => {
    const ids = span.attributes[attribute];
    return sum + (Array.isArray(ids) ? ids.length : 0);
  }, 0);
}

function shorten(text: string): string {
  return text.length <= PROBLEM_WIDTH ? text : `${text.slice(0, PROBLEM_WIDTH - 1)}…`;
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

/** The table: a line a rollout, and their sums. */
export function table(all: readonly StoredRollout[]): string {
  const rows = all.map((stored) => [
    stored.rollout.rollout_id,
    shorten(String(stored.rollout.input)),
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
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (LEFT.has(i) ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "─".repeat(width)).join("  ");
  return [line(HEAD), rule, ...rows.map(line), rule, line(total)].join("\n");
}
