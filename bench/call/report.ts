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
  /** What the bare client's time is compared with. */
  unit?: "chunk";
  /** Most that may be added on the machine of the targets; undefined: no more than the noise. */
  target: number | undefined;
  rounds: number;
}

/** The targets were set on a machine where the bare client takes so long; elsewhere they are scaled. */
const BARE = { call: 44, chunk: 5 };
/** Shown beside; only the first keeps all of an answer, as this package does: token ids, log probabilities. */
const WRAPPERS = ["openinference", "traceloop"];

const ROWS: readonly Row[] = [
  { title: "a call in a rollout", measure: "call", variant: "ours", target: 20, rounds: 40 },
  { title: "a call, 64 at once", measure: "atOnce", variant: "ours", target: 15, rounds: 40 },
  { title: "a call with 200 messages, 200 KB", measure: "long", variant: "ours", target: 40, rounds: 30 },
  { title: "a streamed chunk", measure: "chunk", variant: "ours", unit: "chunk", target: 1.7, rounds: 40 },
  { title: "time to the first chunk", measure: "firstChunk", variant: "ours", target: 35, rounds: 30 },
  { title: "a call outside a rollout", measure: "call", variant: "outside", target: undefined, rounds: 40 },
];

const ratio = (bare: number, added: number) => `${(1 + added / bare).toFixed(2)}x`;

/** Measures and prints; `file` is the program of a round. */
export async function reportCalls(file: string, print: (text: string) => void): Promise<void> {
  const loader = await installWrappers(print);
  const lines: string[][] = [];
  const processor: string[][] = [];
  const noise: Record<string, number> = {};
  let scale = 1;
  for (const { title, measure, variant, unit, target, rounds } of ROWS) {
    const others = loader === undefined || variant === "outside" ? [] : WRAPPERS;
    const taken = await takeTurns(
      file,
      ["bare", "bare", "context", variant, ...others],
      measure,
      rounds,
      loader,
    );
    const [bare, again, context, own, ...rest] = taken;
    if (bare === undefined || again === undefined || context === undefined || own === undefined) return;
    if (lines.length === 0) scale = Math.max(1, bare.wall / BARE.call);
    const factor = unit === undefined ? scale : Math.max(1, bare.wall / BARE[unit]);
    // What two runs of the same thing differ by.
    const apart = Math.max(noise[measure] ?? 0, again.most);
    noise[measure] = apart;
    const limit = target === undefined ? apart : target * factor;
    lines.push([
      title,
      figure(bare.wall),
      figure(again.added),
      figure(context.added),
      figure(own.added),
      ratio(bare.wall, own.added),
      target === undefined ? "noise" : `${target}`,
      figure(limit),
      verdict(own.added <= limit),
      ...rest.map((other) => figure(other.added)),
    ]);
    if (rest.length === 0 || (measure !== "call" && measure !== "long")) continue;
    // The first of the wrappers is the one that keeps as much.
    const [most = Number.NaN] = rest.map((other) => other.cpu - bare.cpu);
    const added = own.cpu - bare.cpu;
    processor.push([
      title,
      figure(bare.cpu),
      figure(again.cpu - bare.cpu),
      figure(added),
      ratio(bare.cpu, added),
      WRAPPERS[0] as string,
      figure(most),
      verdict(added <= most),
      ...rest.map((other) => figure(other.cpu - bare.cpu)),
    ]);
  }
  const others = loader === undefined ? [] : WRAPPERS;
  print("\nMicroseconds that recording adds to the bare client (openai 6.49.0, in-process fetch);");
  print(
    `the targets, for ${BARE.call} a bare call and ${BARE.chunk} a bare chunk, scaled to what those take here.`,
  );
  print(
    "Context is what following the calls by AsyncLocalStorage adds alone; recording in a rollout contains it:",
  );
  print(
    table(
      ["time", "bare", "bare again", "context", "added", "ratio", "target", "here", "", ...others],
      lines,
    ),
  );
  if (processor.length === 0) return;
  print("\nMicroseconds of processor that it adds, with shaping, encoding and sending:");
  print(
    table(["processor", "bare", "bare again", "added", "ratio", "at most", "here", "", ...others], processor),
  );
}
