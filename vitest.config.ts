import { defineConfig } from "vitest/config";

/** See `test/times.ts`. */
const factor = Number(process.env["PROPERTY_RUNS"] ?? 1);

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/conformance/**", "**/node_modules/**"],
    // Whole processes, servers and HTTP clients are tested; a limit here only ends what hangs.
    testTimeout: 60_000 * factor,
    hookTimeout: 60_000,
    pool: "forks",
    typecheck: { tsconfig: "test/types/tsconfig.json", include: ["test/types/**/*.test-d.ts"] },
  },
});
