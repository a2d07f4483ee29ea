/**
 * An agent's process for the tests of its end: adds spans, says so, and ends in the way that it is told.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { installExitHooks } from "../../src/export/exit.ts";
import { decodeSegment } from "../../src/export/spool-format.ts";
import { createStoreSink } from "../../src/export/store-sink.ts";
import { many } from "./finished.ts";

/** What the process is told, as JSON in its first argument. */
export interface AgentOrders {
  url: string;
  spans: number;
  spoolDirectory?: string;
  end:
    | "natural"
    | "shutdown"
    | "exit"
    | "throw"
    | "reject"
    | "wait"
    | "wait-own-handler"
    | "spooled"
    | "on-signal";
  hooks?: boolean;
  signals?: boolean;
  timeoutMs?: number;
  /** A second sink with hooks of its own and half of the spans. */
  second?: boolean;
}

const orders = JSON.parse(process.argv[2] as string) as AgentOrders;

function spooledRecords(directory: string): number {
  let count = 0;
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) count += [...decodeSegment(readFileSync(join(entry.parentPath, entry.name)))].length;
  }
  return count;
}

const open = () =>
  createStoreSink({
    url: orders.url,
    // Longer than any test may take: what ends in time does so for another reason.
    requestTimeoutMs: 600_000,
    spoolDirectory: orders.spoolDirectory,
    holdsProcess: orders.hooks === false,
    flushIntervalMs: orders.end === "spooled" || orders.end === "on-signal" ? 20 : 60_000,
  });
const sink = open();
if (orders.hooks !== false) {
  installExitHooks(sink, { timeoutMs: orders.timeoutMs ?? 20_000, signals: orders.signals ?? true });
}
for (const span of many(orders.spans, "s", "ro-1", { text: "x".repeat(500) })) sink.add(span);

if (orders.second) {
  const second = open();
  installExitHooks(second);
  for (const span of many(orders.spans, "t", "ro-2")) second.add(span);
}

switch (orders.end) {
  case "natural":
    break;
  case "shutdown":
    console.log(JSON.stringify(await sink.shutdown({ timeoutMs: orders.timeoutMs ?? 20_000 })));
    break;
  case "exit":
    process.exit(3);
    break;
  case "throw":
    setTimeout(() => {
      throw new Error("the agent's own fault");
    });
    break;
  case "reject":
    void Promise.reject(new Error("the agent's own fault"));
    break;
  case "wait":
    setInterval(() => undefined, 1_000);
    console.log("ready");
    break;
  case "wait-own-handler":
    process.on("SIGTERM", () => void sink.flush().then(() => process.exit(7)));
    setInterval(() => undefined, 1_000);
    console.log("ready");
    break;
  case "on-signal": {
    const timer = setInterval(() => undefined, 1_000);
    process.once("SIGUSR2", () => clearInterval(timer));
    console.log("ready");
    break;
  }
  case "spooled": {
    const timer = setInterval(() => {
      if (spooledRecords(orders.spoolDirectory as string) < orders.spans) return;
      clearInterval(timer);
      setInterval(() => undefined, 1_000);
      console.log("ready");
    }, 10);
  }
}
