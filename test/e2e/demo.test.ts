import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

interface Outcome {
  code: number | string;
  stdout: string;
  stderr: string;
}

function runDemo(): Promise<Outcome> {
  return new Promise((resolve) => {
    const args = ["--import", "tsx", "examples/demo/main.ts"];
    execFile(process.execPath, args, { cwd: root }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (error.code ?? String(error)), stdout, stderr });
    });
  });
}

it("runs from end to end, and its accounts agree", async () => {
  const { code, stdout, stderr } = await runDemo();
  expect(code, stderr).toBe(0);
  // Node may warn there too, of an SQLite that it calls experimental.
  expect(stderr.split("\n").filter((line) => line.includes("rollouts"))).toEqual(
    [15, 30, 45, 60].map((done) => `${done} of 60 rollouts done, 16 at once`),
  );
  const lines = stdout.split("\n");
  const rows = lines.filter((line) => line.startsWith("ro-"));
  expect(rows).toHaveLength(60);
  // Three of the model's fifteen rules are wrong, and each rule is put to the test by four problems.
  expect(rows.filter((row) => / {2}0(?: \(short 0\.\d\d\))?$/.test(row))).toHaveLength(12);
  expect(rows.filter((row) => / {2}1(?: \(short 0\.\d\d\))?$/.test(row))).toHaveLength(48);
  expect(lines.find((line) => line.startsWith("60 rollouts"))).toMatch(
    / 60 +168 +112 +\d+ +\d+ +mean 0\.80$/,
  );
  expect(stdout).toContain("228 model calls (114 of them streamed)");
  expect(stdout).toContain(
    "✓ Ids, order, parents, agent names and rewards in the store are what the agent saw.",
  );
}, 120_000);
