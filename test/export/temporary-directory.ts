/**
 * A directory for one test.
 *
 * @module
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A fresh directory that is removed when it goes out of scope. */
export function temporaryDirectory(): { path: string; files(): string[]; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), "agl-spool-"));
  return {
    path,
    /** All files in it, however deep. */
    files: () =>
      readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => entry.name)
        .sort(),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}
