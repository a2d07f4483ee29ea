/**
 * Whether memory grows with the number of calls.
 *
 * @module
 */
import { run } from "../program.ts";
import { figure, table, verdict } from "../table.ts";
import type { Heap } from "./round.ts";

/** Megabytes within which two heaps count as equal: compiled code and caches still settle. */
const TOLERANCE = 1;

/** Measures and prints; `folder` holds the bundled programs. */
export async function reportMemory(folder: string, print: (text: string) => void): Promise<void> {
  const { calls, early, late } = await run<Heap>(`${folder}/memory/round.js`, { nodeArgs: ["--expose-gc"] });
  const head = [`after ${calls / 10} calls`, `after ${calls}`, "growth", "target", ""];
  const row = [early, late, late - early].map((value) => `${figure(value)} MB`);
  print("\nHeap in use, half of the calls streamed, spans delivered as they come:");
  print(table(head, [[...row, `<= ${TOLERANCE} MB`, verdict(late - early <= TOLERANCE)]]));
}
