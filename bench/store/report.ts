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

const ROUNDS = 2;
const SECONDS = 3;

/** One kind of load. */
interface Load {
  kind: string;
  title: string;
  /** Least ratio to the Python server. */
  target?: number;
}

const LOADS: readonly Load[] = [
  { kind: "tokens", title: "spans of a training rollout", target: 5 },
  { kind: "text", title: "spans with text alone", target: 5 },
  { kind: "cycles", title: "enqueue, claim, finish (8 workers)" },
];
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
    const urls = servers.map((server) => (server.first as { url: string }).url);
    const rows: string[][] = [];
    for (const load of LOADS) rows.push(await measure(`${folder}/store/load.js`, urls, load));
    const head = ["", "bytes", "ours, SQLite", "Python 0.3, memory", "ratio", "target", ""];
    print("\nPer second over HTTP; spans in OTLP protobuf, 128 to a request, 4 requests under way:");
    print(table(python === undefined ? head.slice(0, 3) : head, rows));
  } finally {
    for (const server of servers) await server.stop();
  }
}

/** Measures the servers in turns; a row of the table. */
async function measure(file: string, urls: readonly string[], load: Load): Promise<string[]> {
  const rounds: Rates[][] = urls.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, url] of urls.entries()) {
      rounds[i]?.push(await run<Rates>(file, { args: [url, String(SECONDS), load.kind] }));
    }
  }
  const [ours = Number.NaN, theirs] = rounds.map((rates) => median(rates.map(({ rate }) => rate)));
  const bytes = rounds[0]?.[0]?.spanBytes ?? 0;
  const row = [load.title, bytes === 0 ? "" : bytes.toFixed(0), figure(ours)];
  if (theirs === undefined) return row;
  const ratio = ours / theirs;
  row.push(figure(theirs), `${ratio.toFixed(1)}x`);
  if (load.target !== undefined) row.push(`>= ${load.target}x`, verdict(ratio >= load.target));
  return row;
}
