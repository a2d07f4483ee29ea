import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";

// Each test runs whole processes, as fast as the machine is.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

test("the example records an app that knows nothing of it", async () => {
  const root = join(import.meta.dirname, "../..");
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", join(root, "examples/no-code-change/main.ts")],
    { cwd: root },
  );
  expect(stderr).toBe("");
  expect(stdout).toBe(
    [
      "42: right",
      "agentlightning.rollout",
      "  openai.chat.completion",
      "  invoke_agent solver [solver]",
      "    openai.chat.completion [solver]",
      "  openai.chat.completion",
      "",
    ].join("\n"),
  );
});
