/**
 * What recording adds to a call of a framework.
 *
 * @module
 */
import { takeTurns } from "../call/turns.ts";
import { figure, table } from "../table.ts";
import { MEASURES } from "./measures.ts";

const ROUNDS = 20;

/** Measures and prints; `file` is the program of a round. */
export async function reportFrameworks(file: string, print: (text: string) => void): Promise<void> {
  const rows: string[][] = [];
  for (const measure of Object.keys(MEASURES)) {
    const taken = await takeTurns(file, ["bare", "bare", "ours"], measure, ROUNDS, undefined);
    const [bare, again, own] = taken;
    if (bare === undefined || again === undefined || own === undefined) return;
    rows.push([
      measure,
      figure(bare.wall),
      figure(again.added),
      figure(own.added),
      `${(1 + own.added / bare.wall).toFixed(2)}x`,
      figure(bare.cpu),
      figure(own.cpu - bare.cpu),
      `${(own.cpu / bare.cpu).toFixed(2)}x`,
    ]);
  }
  print("\nMicroseconds that recording adds to a call of a framework (in-process fetch), and of processor,");
  print("with shaping, encoding and sending:");
  print(table(["framework", "bare", "bare again", "added", "ratio", "processor", "added", "ratio"], rows));
}
