import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Checkpoints, createCheckpoints } from "../../src/store/sqlite-checkpoints.ts";
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
    const finish = vi.fn();
    let checkpoints: Checkpoints | undefined;
    await new Promise<void>((alone) => {
      checkpoints = createCheckpoints(path, module, { finish, alone });
      checkpoints.written();
    });
    checkpoints?.written();
    await checkpoints?.close();
    expect(finish).not.toHaveBeenCalled();
  });

  it("have the writer finish a long log, which then begins anew", async () => {
    const path = join(folder, "store.sqlite");
    const { db, module } = openDatabase(path);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x BLOB)");
    const write = (bytes: number) => db.prepare("INSERT INTO t VALUES (zeroblob(?))").run(bytes);
    const log = () => db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get() as Record<string, number>;
    write(140_000_000);
    const long = (await stat(`${path}-wal`)).size;
    expect(long).toBeGreaterThan(140_000_000);
    let left: Record<string, number> = {};
    let checkpoints: Checkpoints | undefined;
    await new Promise<void>((resolve) => {
      const finish = () => {
        left = log();
        resolve();
      };
      checkpoints = createCheckpoints(path, module, { finish, alone: vi.fn() });
      checkpoints.written();
      // Comes while the thread starts or works: it is left to the writer.
      write(100_000);
    });
    expect(left["checkpointed"]).toBe(left["log"]);
    write(10_000_000);
    expect((await stat(`${path}-wal`)).size).toBeLessThan(long + 1_000_000);
    expect(log()["log"]).toBeLessThan(3_000);
    await checkpoints?.close();
    db.close();
  });

  it("leave a short log to itself", async () => {
    const path = join(folder, "store.sqlite");
    const { db, module } = openDatabase(path);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x BLOB)");
    db.prepare("INSERT INTO t VALUES (zeroblob(?))").run(1_000_000);
    const finish = vi.fn();
    const checkpoints = createCheckpoints(path, module, { finish, alone: vi.fn() });
    checkpoints.written();
    await vi.waitFor(async () => expect((await stat(path)).size).toBeGreaterThan(1_000_000), 20_000);
    await checkpoints.close();
    expect(finish).not.toHaveBeenCalled();
    db.close();
  });

  it("close without a thread, twice", async () => {
    const told = vi.fn();
    const writer = { finish: told, alone: told };
    const checkpoints = createCheckpoints(join(folder, "store.sqlite"), "node:path", writer);
    checkpoints.written();
    await checkpoints.close();
    await checkpoints.close();
    expect(told).not.toHaveBeenCalled();
  });
});
