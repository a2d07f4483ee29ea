import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createCheckpoints } from "../../src/store/sqlite-checkpoints.ts";
import { openDatabase } from "../../src/store/sqlite-driver.ts";
import { openSqliteStore } from "../../src/store/sqlite-store.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agl-checkpoints-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("checkpoints", () => {
  it("move what was written into the file while the store is open, and let go of it", async () => {
    const path = join(folder, "store.sqlite");
    const store = await openSqliteStore({ path });
    await store.enqueueRollouts([{ input: "x".repeat(1_000_000) }]);
    await vi.waitFor(async () => expect((await stat(path)).size).toBeGreaterThan(1_000_000), 20_000);
    const [claimed] = await store.dequeueRollouts();
    expect(claimed?.input).toHaveLength(1_000_000);
    await store.close();
    await expect(stat(`${path}-wal`)).rejects.toThrow("ENOENT");
  });

  it.each(["a module that is not there", "node:path"])("tell when their thread ends: %s", async (module) => {
    const path = join(folder, "store.sqlite");
    openDatabase(path).db.close();
    let tell: () => void = () => {};
    const gone = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const checkpoints = createCheckpoints(path, module, tell);
    checkpoints.written();
    await gone;
    checkpoints.written();
    await checkpoints.close();
  });

  it("close without a thread, twice", async () => {
    const told = vi.fn();
    const checkpoints = createCheckpoints(join(folder, "store.sqlite"), "node:path", told);
    checkpoints.written();
    await checkpoints.close();
    await checkpoints.close();
    expect(told).not.toHaveBeenCalled();
  });
});
