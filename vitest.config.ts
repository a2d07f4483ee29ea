import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/conformance/**", "**/node_modules/**"],
    // Whole processes, servers and HTTP clients are tested; a limit here only ends what hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    typecheck: { tsconfig: "test/types/tsconfig.json", include: ["test/types/**/*.test-d.ts"] },
  },
});
