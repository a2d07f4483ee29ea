/**
 * Runs unmodified apps in processes of their own, with and without the register, against a model server and a store.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Span } from "../../src/protocol/span.ts";
import { serveStore } from "../../src/server/index.ts";
import { openMemoryStore } from "../../src/store/index.ts";
import { type ModelServerOptions, serveModel, spanTree } from "../../src/testing/index.ts";
import { buildRegister } from "./build.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** What a run of an app left. */
export interface Ran {
  stdout: string;
  stderr: string;
  code: number | null;
  spans: readonly Span[];
  /** The spans as `spanTree` gives them. */
  tree: string;
}

/** How an app is run. */
export interface RunOptions {
  /** Whether the register is loaded: by an argument (the default), by `NODE_OPTIONS`, or not at all. */
  by?: "argument" | "variable" | "nothing";
  /** Arguments of Node before the app's file. */
  node?: readonly string[];
  env?: Readonly<Record<string, string>>;
}

/** Servers, a folder for apps, and the register's build. */
export interface Stage {
  readonly folder: string;
  /** The package's own folder. */
  readonly root: string;
  readonly modelUrl: string;
  /** Path of the built `register.js`. */
  readonly register: string;
  write(name: string, text: string): Promise<void>;
  /** Runs the file `name` of the folder as a rollout of its own. */
  run(name: string, options?: RunOptions): Promise<Ran>;
  close(): Promise<void>;
}

/** What AsyncLocalStorage (before Node 24) and every `fetch` break; neither slows down what does not use it. */
const INEVITABLE = ["PromiseHook", "ArrayBufferDetaching"];

/**
 * The assumptions by which V8 is fast, such as that no promise has a `then` of its own, that hold in a run of the file
 * by itself and no longer with the register: its "protectors", each of which is for the whole process.
 */
export async function brokenProtectors(
  stage: Stage,
  file: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const broken = async (by: "nothing" | "argument") => {
    const { code, stdout } = await stage.run(file, { by, env, node: ["--trace-protector-invalidation"] });
    if (code !== 0) throw new Error(`${file} ended with ${code}: ${stdout}`);
    return [...stdout.matchAll(/Invalidating protector cell (\w+)/g)].map((match) => String(match[1]));
  };
  const bare = await broken("nothing");
  const recorded = await broken("argument");
  // It has sent spans, by `fetch`: if that is not told, the flag prints nothing any more.
  if (recorded.length === 0) throw new Error("Node told of no protector");
  return recorded.filter((name) => !bare.includes(name) && !INEVITABLE.includes(name));
}

/** Opens a stage; `name` names the folder of the build, one for each test file. */
export async function openStage(name: string, model: ModelServerOptions = {}): Promise<Stage> {
  const register = await buildRegister(name);
  const folder = await mkdtemp(join(tmpdir(), "agl-register-"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const models = await serveModel(model);
  const store = await openMemoryStore();
  const server = await serveStore({ store, host: "127.0.0.1", port: 0 });
  return {
    folder,
    root: ROOT,
    modelUrl: models.url,
    register,
    write: (file, text) => writeFile(join(folder, file), text),
    async run(file, { by = "argument", node = [], env = {} } = {}) {
      const { rollout_id, attempt } = await store.startRollout({ input: "task", mode: "train" });
      const flags = by === "argument" ? ["--import", register] : [];
      const { NODE_OPTIONS: _, ...inherited } = process.env;
      const child = spawn(process.execPath, [...flags, ...node, file], {
        cwd: folder,
        env: {
          ...inherited,
          MODEL_URL: models.url,
          AGL_STORE_URL: server.url,
          AGL_ROLLOUT_ID: rollout_id,
          AGL_ATTEMPT_ID: attempt.attempt_id,
          ...(by === "variable" ? { NODE_OPTIONS: `--import ${register}` } : {}),
          ...env,
        },
      });
      let stdout = "";
      let stderr = "";
      child.stdout.on("data", (chunk) => {
        stdout += chunk;
      });
      child.stderr.on("data", (chunk) => {
        stderr += chunk;
      });
      const code = await new Promise<number | null>((done, fail) =>
        child.on("error", fail).on("close", done),
      );
      const { items } = await store.querySpans({ rollout_id });
      return { stdout, stderr, code, spans: items, tree: spanTree(items) };
    },
    async close() {
      await server.close();
      await models.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
