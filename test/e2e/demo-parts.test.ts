import { describe, expect, it } from "vitest";
import { calculate } from "../../examples/demo/calculator.ts";
import { createProgress } from "../../examples/demo/progress.ts";
import { readProblems } from "../../examples/demo/rollouts.ts";

describe("the calculator", () => {
  it.each([
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["10 - 4 - 3", 3],
    ["7 - 12", -5],
    ["-3 * -(2 + 1)", 9],
    ["50 % 8", 2],
    ["0.1 + 0.2", 0.3],
    ["12.5 * 128 / 100", 16],
  ])("%s = %d", (expression, value) => {
    expect(calculate(expression)).toBe(value);
  });

  it.each([
    ["12 × 7", '"×" is no sign of arithmetic'],
    ["1 / 0", 'division by zero in "1 / 0"'],
    ["(1 + 2", 'a bracket is not closed in "(1 + 2"'],
    ["1 +", 'a number is missing before "the end" in "1 +"'],
    ["", 'a number is missing before "the end" in ""'],
  ])("refuses %s", (expression, message) => {
    expect(() => calculate(expression)).toThrow(message);
  });
});

it("has sixty problems, each of its own, with a number for an answer", async () => {
  const problems = await readProblems();
  expect(problems).toHaveLength(60);
  expect(new Set(problems.map((problem) => problem.id)).size).toBe(60);
  expect(new Set(problems.map((problem) => problem.question)).size).toBe(60);
  expect(problems.every((problem) => Number.isFinite(problem.answer))).toBe(true);
});

describe("progress", () => {
  const record = (isTTY: boolean) => {
    const written: string[] = [];
    const progress = createProgress("done", 8, { isTTY, write: (text) => written.push(text) });
    for (let done = 1; done <= 8; done++) progress(done);
    return written;
  };

  it("rewrites one line of a terminal", () => {
    const written = record(true);
    expect(written).toHaveLength(8);
    expect(written[0]).toBe(`\r${"█".repeat(3)}${"░".repeat(21)} 1 of 8 done`);
    expect(written[7]).toBe(`\r${"█".repeat(24)} 8 of 8 done\n`);
    expect(written.join("").match(/\n/g)).toHaveLength(1);
  });

  it("writes a few lines elsewhere", () => {
    expect(record(false)).toEqual(["2 of 8 done\n", "4 of 8 done\n", "6 of 8 done\n", "8 of 8 done\n"]);
  });
});
