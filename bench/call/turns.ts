/**
 * Variants that take turns: all are warmed up in processes of their own, then each runs a short block, over and over.
 * What the machine does in the meantime meets all of them alike. Then new processes do the same: how the engine has
 * compiled a program, and where its memory lies, is a matter of luck that stays as long as the process does.
 *
 * @module
 */
import { type ChildProcess, fork } from "node:child_process";
import { on } from "node:events";
import { median } from "../median.ts";
import type { Round, Total } from "./blocks.ts";

/** What a variant took, in microseconds per unit; medians over the rounds. */
export interface Taken {
  wall: number;
  /** Median of the distances to the first variant in the same round. */
  added: number;
  /** The same of the set of processes in which it is the farthest from 0. */
  most: number;
  /** Mean of the processor time. */
  cpu: number;
}

async function open(file: string, args: readonly string[]) {
  // Without the arguments of this process, whose loader of TypeScript has no part in what is measured.
  const child: ChildProcess = fork(file, args, { execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] });
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4_000);
  });
  const gone = new AbortController();
  child.once("exit", (code) => gone.abort(new Error(`${args.join(" ")} ended with ${code}\n${errors}`)));
  const answers = on(child, "message", { signal: gone.signal });
  const next = async <T>(): Promise<T> => {
    try {
      return ((await answers.next()) as { value: [T] }).value[0];
    } catch (error) {
      throw gone.signal.reason ?? error;
    }
  };
  await next<"ready">();
  return {
    async block(): Promise<Round> {
      child.send("block");
      return next<Round>();
    },
    async end(): Promise<Total> {
      child.send("end");
      return next<Total>();
    },
  };
}

const GENERATIONS = 3;
/** Variants that record nothing. */
const SILENT = ["bare", "context", "outside"];

/**
 * Measures `variants` against the first of them.
 *
 * @param file - the program of a round
 */
export async function takeTurns(
  file: string,
  variants: readonly string[],
  measure: string,
  rounds: number,
  loader: string | undefined,
): Promise<Taken[]> {
  const taken: Round[][] = variants.map(() => []);
  for (let generation = 0; generation < GENERATIONS; generation++) {
    // All at once: a program that has waited for others to warm up is slower by a tenth, for as long as it runs.
    const programs = await Promise.all(
      variants.map((variant) => open(file, [variant, measure, loader ?? ""])),
    );
    for (let round = 0; round < rounds / GENERATIONS; round++) {
      // From another one each time, forth and back: nobody is always first, or always after the same neighbour.
      const order = [...programs.keys()].map((i) => (i + round) % programs.length);
      if (round % 2 === 1) order.reverse();
      for (const i of order) taken[i]?.push((await programs[i]?.block()) as Round);
    }
    for (const [i, program] of programs.entries()) {
      const { calls, delivered } = await program.end();
      if (!SILENT.includes(variants[i] as string) && delivered !== undefined && delivered < calls) {
        throw new Error(`${variants[i]} recorded ${delivered} of ${calls} calls`);
      }
    }
  }
  const first = taken[0] as Round[];
  const each = Math.ceil(rounds / GENERATIONS);
  return taken.map((own) => {
    const added = own.map((round, i) => round.wall - (first[i] as Round).wall);
    const generations = Array.from({ length: GENERATIONS }, (_, i) => added.slice(i * each, (i + 1) * each));
    return {
      wall: median(own.map((round) => round.wall)),
      added: median(added),
      most: Math.max(...generations.map((one) => Math.abs(median(one)))),
      cpu: own.reduce((sum, round) => sum + round.cpu, 0) / own.length,
    };
  });
}
