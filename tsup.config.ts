import { defineConfig, type Options } from "tsup";

const shared: Options = {
  outDir: "dist",
  target: "node20",
  sourcemap: true,
  // tsup would otherwise turn "node:sqlite" into "sqlite", which no runtime has.
  removeNodeProtocol: false,
};

/** What the package exports in two formats. */
const entries = {
  index: "src/index.ts",
  client: "src/client/index.ts",
  store: "src/store/index.ts",
  server: "src/server/index.ts",
  testing: "src/testing/index.ts",
};

/** Two small programs without chunks, since every process pays for them; what instruments is loaded at need. */
export const register: Options[] = [
  {
    ...shared,
    entry: { register: "src/register.ts" },
    format: ["esm", "cjs"],
    splitting: false,
    // What it loads lies beside it, for `--require` too.
    shims: true,
  },
  { ...shared, entry: { "register/loader": "src/register/loader.ts" }, format: ["esm"], splitting: false },
  { ...shared, entry: { "register/capture": "src/register/capture.ts" }, format: ["cjs"] },
];

export default defineConfig([
  {
    ...shared,
    entry: entries,
    format: ["esm", "cjs"],
    // All declarations at once: their build removes what it finds.
    dts: {
      entry: { ...entries, register: "src/register.ts" },
      compilerOptions: { ignoreDeprecations: "6.0" },
    },
    clean: true,
  },
  {
    ...shared,
    entry: { "cli/main": "src/cli/main.ts" },
    format: ["esm"],
  },
  ...register,
]);
