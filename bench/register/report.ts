/**
 * What the register adds to the start of a process.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildRegister } from "../../test/register/build.ts";
import { median } from "../median.ts";
import { figure, table } from "../table.ts";

const ROUNDS = 15;
const ROOT = resolve(import.meta.dirname, "../..");

const APPS: ReadonlyArray<readonly [title: string, file: string, text: string]> = [
  ["no library, ES module", "empty.mjs", ""],
  ["no library, CommonJS", "empty.cjs", ""],
  ["openai, ES module", "openai.mjs", 'import "openai";'],
  ["openai, CommonJS", "openai.cjs", 'require("openai");'],
  ["ai, ES module", "ai.mjs", 'import "ai";'],
];

/** Milliseconds that a process takes from its start to its end. */
function timed(args: readonly string[], cwd: string): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${args.join(" ")} failed: ${stderr}`);
  return performance.now() - start;
}

/** Measures in turns, so that a slow moment of the machine meets all alike, and prints. */
export async function reportRegister(print: (text: string) => void): Promise<void> {
  const register = await buildRegister("bench-register");
  const folder = await mkdtemp(join(tmpdir(), "agl-bench-"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const rows: string[][] = [];
  for (const [title, file, text] of APPS) {
    await writeFile(join(folder, file), text);
    const taken = { bare: [] as number[], again: [] as number[], registered: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      taken.bare.push(timed([file], folder));
      taken.registered.push(timed(["--import", register, file], folder));
      taken.again.push(timed([file], folder));
    }
    const [bare, again, own] = [taken.bare, taken.again, taken.registered].map(median) as [
      number,
      number,
      number,
    ];
    rows.push([title, figure(bare), figure(again - bare), figure(own - bare), `${(own / bare).toFixed(2)}x`]);
  }
  await rm(folder, { recursive: true });
  print("\nMilliseconds that --import agentlightning/register adds to a process from its start to its end:");
  print(table(["app", "bare", "bare again", "added", "ratio"], rows));
}
