import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: ["test/conformance/**/*.test.ts"],
    globalSetup: ["test/conformance/global-setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    // The runner and the tracer of the Python side are one a process.
    fileParallelism: false,
  },
});
