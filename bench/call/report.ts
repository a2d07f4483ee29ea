/**
 * What recording adds to a call of the bare client.
 *
 * @module
 */
import { figure, table, verdict } from "../table.ts";
import { takeTurns } from "./turns.ts";
import { installWrappers } from "./wrappers.ts";

/** One row of the table; times in microseconds. */
interface Row {
  title: string;
  measure: string;
  variant: "ours" | "outside";
  /** Most that may be added; undefined: no more than the noise. */
  target: number | undefined;
  rounds: number;
  /** Packages that are measured beside. */
  beside: readonly string[];
}

const WRAPPERS = ["openinference", "traceloop"];

const ROWS: readonly Row[] = [
  {
    title: "a call in a rollout",
    measure: "call",
    variant: "ours",
    target: 20,
    rounds: 100,
    beside: WRAPPERS,
  },
  {
    title: "a call, 64 at once",
    measure: "atOnce",
    variant: "ours",
    target: 15,
    rounds: 80,
    beside: WRAPPERS,
  },
  {
    title: "a call with 200 messages",
    measure: "long",
    variant: "ours",
    target: 40,
    rounds: 80,
    beside: WRAPPERS,
  },
  { title: "a streamed chunk", measure: "chunk", variant: "ours", target: 1.7, rounds: 80, beside: WRAPPERS },
  {
    title: "time to the first chunk",
    measure: "firstChunk",
    variant: "ours",
    target: 35,
    rounds: 60,
    beside: WRAPPERS,
  },
  {
    title: "a call outside a rollout",
    measure: "call",
    variant: "outside",
    target: undefined,
    rounds: 80,
    beside: [],
  },
];

/** Measures and prints; `file` is the program of a round. */
export async function reportCalls(file: string, print: (text: string) => void): Promise<void> {
  const loader = await installWrappers(print);
  const lines: string[][] = [];
  const cpu: string[][] = [];
  for (const { title, measure, variant, target, rounds, beside } of ROWS) {
    const others = loader === undefined ? [] : beside;
    const taken = await takeTurns(file, ["bare", "bare", variant, ...others], measure, rounds, loader);
    const [bare, again, own, ...rest] = taken;
    if (bare === undefined || again === undefined || own === undefined) return;
    const noise = Math.abs(again.added);
    const limit = target ?? Math.max(noise, bare.wall * 0.02);
    lines.push([
      title,
      figure(bare.wall),
      figure(again.added),
      figure(own.added),
      `${(1 + own.added / bare.wall).toFixed(2)}x`,
      target === undefined ? "noise" : `<= ${target}`,
      verdict(own.added <= limit),
      ...rest.map((other) => figure(other.added)),
    ]);
    if (measure !== "call" || variant !== "ours") continue;
    const cheapest = Math.min(...rest.map((other) => other.cpu - bare.cpu));
    const added = own.cpu - bare.cpu;
    cpu.push([
      "processor, all in",
      figure(bare.cpu),
      figure(again.cpu - bare.cpu),
      figure(added),
      `${(own.cpu / bare.cpu).toFixed(2)}x`,
      Number.isFinite(cheapest) ? `<= ${figure(cheapest)}` : "-",
      Number.isFinite(cheapest) ? verdict(added <= cheapest) : "-",
      ...rest.map((other) => figure(other.cpu - bare.cpu)),
    ]);
  }
  print("\nMicroseconds that recording adds to the bare client (openai 6.49.0, in-process fetch):");
  print(
    table(
      ["", "bare", "bare again", "added", "ratio", "target", "", ...(loader === undefined ? [] : WRAPPERS)],
      [...lines, ...cpu],
    ),
  );
}
