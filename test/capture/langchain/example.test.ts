import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { lines } from "./setup.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

const round = [
  "    node solver [solver]",
  "      invoke_agent solver [solver]",
  "        node model_request [solver]",
  "          openai.chat.completion [solver]",
  "          chain RunnableLambda [solver]",
  "        node tools [solver]",
  "          execute_tool multiply [solver]",
  "        node model_request [solver]",
  "          openai.chat.completion [solver]",
  "          chain RunnableLambda [solver]",
  "    node critic [critic]",
  "      openai.chat.completion [critic]",
  "      chain RunnableLambda [critic]",
];

test("examples/langgraph: every model call once, under its agent, with token ids", async () => {
  const args = ["--import", "tsx", "examples/langgraph/main.ts"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  expect(stdout).toBe(
    lines(
      "agentlightning.rollout",
      "  graph LangGraph",
      "    node planner [planner]",
      "      openai.chat.completion [planner]",
      ...round,
      ...round,
      "  agentlightning.annotation",
      "",
      "answer 42, reward 1; 7 model calls, 7 with token ids",
      "",
    ),
  );
});
