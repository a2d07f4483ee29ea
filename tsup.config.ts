import { defineConfig, type Options } from "tsup";

const shared: Options = {
  outDir: "dist",
  target: "node20",
  sourcemap: true,
  // tsup would otherwise turn "node:sqlite" into "sqlite", which no runtime has.
  removeNodeProtocol: false,
};

export default defineConfig([
  {
    ...shared,
    entry: {
      index: "src/index.ts",
      client: "src/client/index.ts",
      store: "src/store/index.ts",
      server: "src/server/index.ts",
      testing: "src/testing/index.ts",
    },
    format: ["esm", "cjs"],
    dts: { compilerOptions: { ignoreDeprecations: "6.0" } },
    clean: true,
  },
  {
    ...shared,
    entry: { "cli/main": "src/cli/main.ts" },
    format: ["esm"],
  },
]);
