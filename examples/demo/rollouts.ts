/**
 * Works through all problems, many at once in one process: each one is a rollout with a reward.
 *
 * @module
 */
import { readFile } from "node:fs/promises";
import type OpenAI from "openai";
import * as agl from "../../src/index.ts";
import { solve } from "./agent.ts";
import type { RolloutEntry } from "./ledger.ts";

/** A line of problems.jsonl. */
export interface Problem {
  id: string;
  question: string;
  answer: number;
}

/** The problems of the demo. */
export async function readProblems(): Promise<Problem[]> {
  const text = await readFile(new URL("problems.jsonl", import.meta.url), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Problem);
}

async function runOne(openai: OpenAI, problem: Problem, index: number): Promise<RolloutEntry> {
  const entry: Omit<RolloutEntry, "rolloutId" | "attemptId"> = {
    problem: problem.question,
    calls: [],
    tools: [],
    reward: [],
  };
  const { rolloutId, attemptId, stored } = await agl.rollout(
    { input: problem.question, mode: "train", metadata: { problem: problem.id } },
    async () => {
      const answer = await solve(openai, problem.question, entry);
      const correct = answer === problem.answer ? 1 : 0;
      if (index % 2 === 0) {
        agl.emitReward(correct);
        entry.reward.push({ name: "primary", value: correct });
      } else {
        const short = 1 / entry.calls.length;
        agl.emitReward({ short, correct }, { primaryKey: "correct" });
        entry.reward.push({ name: "correct", value: correct }, { name: "short", value: short });
      }
    },
  );
  if (!stored) throw new Error(`problem ${problem.id} ran without the store`);
  return { rolloutId, attemptId, ...entry };
}

/**
 * Runs every problem, at most `atOnce` of them at a time.
 *
 * @returns one entry a problem, in the problems' order
 */
export async function runAll(
  openai: OpenAI,
  problems: readonly Problem[],
  atOnce: number,
  onDone: (done: number) => void,
): Promise<RolloutEntry[]> {
  const entries: RolloutEntry[] = [];
  let next = 0;
  let done = 0;
  const work = async () => {
    for (let index = next++; index < problems.length; index = next++) {
      entries[index] = await runOne(openai, problems[index]!, index);
      onDone(++done);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return entries;
}
