import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { lines } from "../langchain/setup.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

const round = [
  "  invoke_agent solver [solver]",
  "    openai.chat.completion [solver]",
  "    execute_tool multiply [solver]",
  "    openai.chat.completion [solver]",
  "    handoff solver [solver]",
  "  invoke_agent critic [critic]",
  "    openai.chat.completion [critic]",
];

test("examples/openai-agents: every model call once, under its agent, with token ids", async () => {
  const args = ["--import", "tsx", "examples/openai-agents/main.ts"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  expect(stdout).toBe(
    lines(
      "agentlightning.rollout",
      "  invoke_agent planner [planner]",
      "    openai.chat.completion [planner]",
      "    handoff planner [planner]",
      ...round,
      "    handoff critic [critic]",
      ...round,
      "  agentlightning.annotation",
      "",
      "answer 42, reward 1; 7 model calls, 7 with token ids",
      "",
    ),
  );
});
