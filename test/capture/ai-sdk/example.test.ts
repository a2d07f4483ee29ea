import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");

test("the example's span tree", async () => {
  const main = join(ROOT, "examples/ai-sdk-agent/main.ts");
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--import", "tsx", main], {
    cwd: ROOT,
  });
  expect(stderr).toBe("");
  expect(stdout.trimEnd().split("\n")).toEqual([
    "agentlightning.rollout",
    "  invoke_agent planner [planner]",
    "    openai.chat.completion [planner]",
    "    execute_tool solve [planner]",
    "      invoke_agent solver [solver]",
    "        openai.chat.completion [solver]",
    "        execute_tool multiply [solver]",
    "        openai.chat.completion [solver]",
    "    openai.chat.completion [planner]",
    "  agentlightning.annotation",
    "",
    "answer 42, reward 1; 4 model calls, 4 with token ids",
  ]);
});
