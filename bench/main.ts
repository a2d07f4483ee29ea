/**
 * `npm run bench [calls] [frameworks] [memory] [register] [store]`: what this package costs, as ratios measured in one
 * run. A figure that misses its target is marked; speed is shown here, not asserted.
 *
 * @module
 */
import { availableParallelism, cpus, release } from "node:os";
import { buildPrograms } from "./build.ts";
import { reportCalls } from "./call/report.ts";
import { reportFrameworks } from "./frameworks/report.ts";
import { reportMemory } from "./memory/report.ts";
import { reportRegister } from "./register/report.ts";
import { reportStores } from "./store/report.ts";

const print = (text: string) => void process.stdout.write(`${text}\n`);

const PARTS: Record<string, (folder: string) => Promise<void>> = {
  calls: (folder) => reportCalls(`${folder}/call/round.js`, print),
  frameworks: (folder) => reportFrameworks(`${folder}/frameworks/round.js`, print),
  memory: (folder) => reportMemory(folder, print),
  register: () => reportRegister(print),
  store: (folder) => reportStores(folder, print),
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  print(`There is no part ${unknown.join(", ")}; there are ${Object.keys(PARTS).join(", ")}.`);
  process.exit(2);
}
print(
  `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? "unknown"}), ${release()}`,
);
const folder = await buildPrograms([
  "call/round",
  "frameworks/round",
  "memory/round",
  "store/serve",
  "store/load",
]);
for (const [name, part] of Object.entries(PARTS)) {
  if (wanted.length === 0 || wanted.includes(name)) await part(folder);
}
