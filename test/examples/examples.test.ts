/**
 * Runs the examples as a user does, and compares what they print with their `expected.txt`: its first line is the command
 * after a dollar sign, the rest is the output. A folder with such a file is an example that is run here.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const EXAMPLES = join(ROOT, "examples");
/** The example of a web app is built first. */
const TIMEOUT = 400_000;

const examples = readdirSync(EXAMPLES).filter((name) => existsSync(join(EXAMPLES, name, "expected.txt")));

test("every example says what it prints, except the demo, whose output has times and ids in it", () => {
  const folders = readdirSync(EXAMPLES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(["demo", ...examples].sort()).toEqual(folders.map(({ name }) => name).sort());
});

test.each(examples)(
  "examples/%s",
  async (name) => {
    const text = readFileSync(join(EXAMPLES, name, "expected.txt"), "utf8");
    const [command = "", ...output] = text.split("\n");
    expect(command).toMatch(/^\$ node /);
    const args = command.split(" ").slice(2);
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
    // Before the output: an error on the other stream says why it differs.
    expect(stderr).toBe("");
    expect(stdout.split("\n")).toEqual(output);
  },
  TIMEOUT,
);
