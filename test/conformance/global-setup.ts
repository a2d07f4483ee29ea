/**
 * Starts the Python side once for all test files: importing the package takes longer than the tests.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { preparePython } from "./python-environment.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the bridge to the Python package listens. */
    bridgeUrl: string;
  }
}

/** Nothing leaves the machine: no telemetry, no list of model prices from the network, no proxy in between. */
const OFFLINE = {
  AGENTOPS_API_KEY: "dummy",
  AGENTOPS_ENV_DATA_OPT_OUT: "true",
  ANONYMIZED_TELEMETRY: "False",
  DO_NOT_TRACK: "1",
  LITELLM_LOCAL_MODEL_COST_MAP: "True",
  LITELLM_TELEMETRY: "False",
  OTEL_SDK_DISABLED: "false",
  WANDB_MODE: "disabled",
  NO_PROXY: "127.0.0.1,localhost",
  PYTHONUNBUFFERED: "1",
  PYTHONDONTWRITEBYTECODE: "1",
};

async function urlOf(child: ChildProcess, log: string[]): Promise<string> {
  if (child.stdout === null) throw new Error("the bridge has no standard output");
  const ended = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the Python bridge ended with ${code}:\n${log.join("")}`)));
  });
  ended.catch(() => {});
  const lines = createInterface({ input: child.stdout });
  const first = (async () => {
    for await (const line of lines) {
      // The packages print banners of their own.
      if (line.startsWith('{"url"')) return (JSON.parse(line) as { url: string }).url;
    }
    return ended;
  })();
  return Promise.race([first, ended]);
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const python = await preparePython();
  const script = fileURLToPath(new URL("./python/bridge.py", import.meta.url));
  const child = spawn(python, [script], {
    env: { ...process.env, ...OFFLINE },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const log: string[] = [];
  child.stderr.on("data", (chunk: Buffer) => {
    log.push(chunk.toString("utf8"));
    if (process.env["AGL_CONFORMANCE_LOG"] !== undefined) process.stderr.write(chunk);
  });
  project.provide("bridgeUrl", await urlOf(child, log));
  child.stdout.resume();
  return async () => {
    if (child.exitCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await exited;
    clearTimeout(timer);
  };
}
