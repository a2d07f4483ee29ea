/**
 * Our server beside the Python package's, under the same load.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { median } from "../median.ts";
import { run, start } from "../program.ts";
import { figure, table, verdict } from "../table.ts";
import type { Rates } from "./load.ts";
import { findPython } from "./python.ts";

const ROUNDS = 3;
const TARGET = 5;
const SECONDS = 3;
const PYTHON_ENV = { PYTHONUNBUFFERED: "1", PYTHONDONTWRITEBYTECODE: "1", OTEL_SDK_DISABLED: "false" };

/** Measures and prints; `folder` holds the bundled programs. */
export async function reportStores(folder: string, print: (text: string) => void): Promise<void> {
  const python = await findPython();
  if (python === undefined) {
    print(
      "\nThe Python server is not measured: there is no environment for it. `npm run test:conformance` makes one, or name one in AGL_CONFORMANCE_VENV.",
    );
  }
  const servers = [await start(`${folder}/store/serve.js`)];
  try {
    if (python !== undefined) {
      const script = fileURLToPath(new URL("./serve.py", import.meta.url));
      servers.push(await start(script, { command: python, env: PYTHON_ENV }));
    }
    const rates: Rates[][] = servers.map(() => []);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, server] of servers.entries()) {
        const { url } = server.first as { url: string };
        rates[i]?.push(await run<Rates>(`${folder}/store/load.js`, { args: [url, String(SECONDS)] }));
      }
    }
    const bytes = Math.round(rates[0]?.[0]?.spanBytes ?? 0);
    print(
      `\nPer second over HTTP, spans of ${bytes} bytes in OTLP protobuf, 128 to a request, 4 requests under way:`,
    );
    print(summary(rates));
  } finally {
    for (const server of servers) await server.stop();
  }
}

function summary(rates: readonly Rates[][]): string {
  const row = (title: string, of: (rates: Rates) => number, target?: number): string[] => {
    const [ours = Number.NaN, theirs] = rates.map((rounds) => median(rounds.map(of)));
    if (theirs === undefined) return [title, figure(ours)];
    const ratio = ours / theirs;
    const judged = target === undefined ? [] : [`>= ${target}x`, verdict(ratio >= target)];
    return [title, figure(ours), figure(theirs), `${ratio.toFixed(1)}x`, ...judged];
  };
  const head = ["", "ours, SQLite"];
  if (rates.length > 1) head.push("Python 0.3, memory", "ratio", "target", "");
  return table(head, [
    row("spans", ({ spans }) => spans, TARGET),
    row("enqueue, claim, finish (8 workers)", ({ cycles }) => cycles),
  ]);
}
