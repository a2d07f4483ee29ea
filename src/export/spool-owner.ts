/**
 * Who owns a directory of a spool. The owner is part of the directory's name, so that taking a dead process's spans
 * over is one atomic rename: of two processes that try, one succeeds.
 *
 * @module
 */
import { nodeModule } from "../internal/node-module.ts";

/** Parts of node: that the spool uses. */
export interface SpoolSystem {
  fs: typeof import("node:fs");
  path: typeof import("node:path");
  hostname: string;
  pid: number;
}

interface ProcessLike {
  pid: number;
  uptime(): number;
  kill(pid: number, signal: 0): boolean;
}

const MARK = "agl";
/** A directory of another machine is given up for dead when its owner has not touched it for this long. */
const STALE_MS = 300_000;

function ownProcess(): ProcessLike | undefined {
  return (globalThis as unknown as { process?: ProcessLike }).process;
}

/** The node: modules, or undefined in a runtime that has none. */
export function spoolSystem(): SpoolSystem | undefined {
  const process = ownProcess();
  const fs = nodeModule<SpoolSystem["fs"]>("node:fs");
  const path = nodeModule<SpoolSystem["path"]>("node:path");
  const os = nodeModule<typeof import("node:os")>("node:os");
  if (process === undefined || fs === undefined || path === undefined || os === undefined) return undefined;
  return { fs, path, hostname: os.hostname().replace(/[^A-Za-z0-9.-]/g, "-"), pid: process.pid };
}

/** When process `pid` was started, in the kernel's own count; "" where the system does not say. */
function startOf(system: SpoolSystem, pid: number): string {
  try {
    const stat = system.fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, field 2, is in brackets and may hold spaces; the state is field 3, the start time field 22.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? "zombie" : (fields[19] ?? "");
  } catch {
    return "";
  }
}

/** What stays the same about a directory, whoever owns it. */
export interface Identity {
  /** Short name of the destination, of letters and digits. */
  destination: string;
  /** Larger for what was written later: the order in which directories are read. */
  born: number;
  /** Letters and digits. */
  unique: string;
}

/** The name of a directory that this process owns. */
export function ownName(system: SpoolSystem, { destination, born, unique }: Identity): string {
  return [MARK, destination, system.hostname, system.pid, startOf(system, system.pid), born, unique].join(
    "~",
  );
}

/** The name of a directory that anybody may take over. */
export function freeName({ destination, born, unique }: Identity): string {
  return [MARK, destination, "", 0, "", born, unique].join("~");
}

/** The identity in a directory's name; `born` is 0 where there is none. */
export function identityOf(name: string): Identity {
  const [, destination = "", , , , born, unique = ""] = name.split("~");
  return { destination, born: Number(born) || 0, unique };
}

function runs(pid: number): boolean {
  try {
    ownProcess()?.kill(pid, 0);
    return true;
  } catch (error) {
    // It runs, as another user.
    return (error as { code?: unknown }).code === "EPERM";
  }
}

/** Whether the spool directory `name` is of `destination` and has no living owner. `touchedMs` is its change time. */
export function isOrphan(
  system: SpoolSystem,
  name: string,
  destination: string,
  touchedMs: number,
  now: number,
): boolean {
  const [mark, to, host, pidText, start] = name.split("~");
  if (mark !== MARK || to !== destination) return false;
  const pid = Number(pidText);
  if (pid === 0) return true;
  if (host !== system.hostname) return now - touchedMs > STALE_MS;
  if (!runs(pid)) return true;
  const startNow = startOf(system, pid);
  if (start !== "" && startNow !== "") return start !== startNow;
  // No start times here. A number like our own may be that of a process before us, as in a restarted container.
  return pid === system.pid && touchedMs < Date.now() - (ownProcess()?.uptime() ?? 0) * 1000 - 1000;
}
