/**
 * Our server beside the Python package's, under the same load.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { median } from "../median.ts";
import { type Running, run, start } from "../program.ts";
import { figure, table, verdict } from "../table.ts";
import type { Rates } from "./load.ts";
import { findPython } from "./python.ts";

const ROUNDS = 5;
const SECONDS = 4;

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
const HEAD = [
  "",
  "bytes",
  "ours",
  "ours/CPU s",
  "Python",
  "Python/CPU s",
  "ratio",
  "ratio/CPU s",
  "target",
  "",
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
    const rows: string[][] = [];
    for (const load of LOADS) rows.push(await measure(`${folder}/store/load.js`, servers, load));
    print(
      "\nPer second over HTTP, ours with SQLite, Python 0.3 in memory; spans in OTLP protobuf, 128 to a request,",
    );
    print(
      "4 requests under way. Per CPU second: of the server's processor time. (least to greatest of the rounds)",
    );
    print(table(python === undefined ? HEAD.slice(0, 4) : HEAD, rows));
  } finally {
    for (const server of servers) await server.stop();
  }
}

/** Measures the servers in turns; a row of the table. */
async function measure(file: string, servers: readonly Running[], load: Load): Promise<string[]> {
  const rounds: Rates[][] = servers.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, { first, pid }] of servers.entries()) {
      const { url } = first as { url: string };
      rounds[i]?.push(await run<Rates>(file, { args: [url, String(SECONDS), load.kind, String(pid)] }));
    }
  }
  const all = rounds.map((each) => each.map(({ rate }) => rate));
  const allCpu = rounds.map((each) => each.map(({ perCpuSecond }) => perCpuSecond ?? Number.NaN));
  const bytes = rounds[0]?.[0]?.spanBytes ?? 0;
  const row = [load.title, bytes === 0 ? "" : bytes.toFixed(0)];
  for (const i of servers.keys()) row.push(figure(median(all[i] ?? [])), figure(median(allCpu[i] ?? [])));
  if (servers.length < 2) return row;
  const ratio = median(ratios(all));
  row.push(spread(ratios(all)), spread(ratios(allCpu)));
  if (load.target !== undefined) row.push(`>= ${load.target}x`, verdict(ratio >= load.target));
  return row;
}

/** Our figure over theirs in each round: what disturbs a round, disturbs both. */
function ratios([ours = [], theirs = []]: readonly number[][]): number[] {
  return ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
}

function spread(values: readonly number[]): string {
  const one = (value: number) => value.toFixed(1);
  return `${one(median(values))}x (${one(Math.min(...values))} to ${one(Math.max(...values))})`;
}
