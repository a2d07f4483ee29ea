import { defineConfig, type Options } from "tsup";

const shared: Options = {
  outDir: "dist",
  target: "node20",
  sourcemap: true,
  // tsup would otherwise turn "node:sqlite" into "sqlite", which no runtime has.
  removeNodeProtocol: false,
};

/** Two small programs without chunks, since every process pays for them; what instruments is loaded at need. */
export const register: Options[] = [
  {
    ...shared,
    entry: { register: "src/register.ts", "register/loader": "src/register/loader.ts" },
    format: ["esm"],
    splitting: false,
    dts: { entry: { register: "src/register.ts" }, compilerOptions: { ignoreDeprecations: "6.0" } },
  },
  { ...shared, entry: { "register/capture": "src/register/capture.ts" }, format: ["cjs"] },
];

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
  ...register,
]);
