import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AglError } from "../../src/errors.ts";
import { openSqliteStore } from "../../src/store/index.ts";
import { openDatabase } from "../../src/store/sqlite-driver.ts";
import { claim, enqueue, sampleSpan } from "../../src/testing/store-contract/harness.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agl-sqlite-"));
  path = join(folder, "store.db");
});
afterEach(() => rm(folder, { recursive: true }));

const failure = (call: Promise<unknown>): Promise<AglError> =>
  call.then(
    () => {
      throw new Error("did not fail");
    },
    (error) => error as AglError,
  );

describe("a file that is opened again", () => {
  it("has everything: queue order, attempts, spans, counters, workers, resources", async () => {
    let now = 1_000;
    const first = await openSqliteStore({ path, now: () => now });
    const resources = await first.addResources({});
    await first.updateResources("other", {});
    await first.updateResources(resources.resources_id, {
      main: { resource_type: "prompt_template", template: "{x}", engine: "jinja" },
    });
    const made = await first.enqueueRollouts(
      ["a", "b", "c"].map((input) => ({
        input,
        config: { max_attempts: 2, retry_condition: ["failed" as const], timeout_seconds: 60 },
      })),
    );
    const claimed = await claim(first, "w");
    await first.addSpans([sampleSpan(claimed.attempt, 1), sampleSpan(claimed.attempt, 2)]);
    await first.nextSequenceId(claimed.rollout_id, claimed.attempt.attempt_id);
    await first.updateAttempt(claimed.rollout_id, "latest", { status: "failed", metadata: { log: "x" } });
    await first.updateWorker("w", { heartbeat_stats: { cpu: 1 } });
    const running = await claim(first, "v");
    const before = {
      rollouts: await first.queryRollouts(),
      attempts: await first.queryAttempts(claimed.rollout_id),
      spans: await first.querySpans({ rollout_id: claimed.rollout_id }),
      workers: await first.queryWorkers(),
      resources: await first.queryResources(),
      latest: await first.getLatestResources(),
      statistics: await first.statistics(),
    };
    await first.close();

    const second = await openSqliteStore({ path, now: () => now });
    expect({
      rollouts: await second.queryRollouts(),
      attempts: await second.queryAttempts(claimed.rollout_id),
      spans: await second.querySpans({ rollout_id: claimed.rollout_id }),
      workers: await second.queryWorkers(),
      resources: await second.queryResources(),
      latest: await second.getLatestResources(),
      statistics: await second.statistics(),
    }).toEqual(before);
    expect(before.statistics).toMatchObject({ total_spans: 2, total_attempts: 2 });
    expect(await second.nextSequenceId(claimed.rollout_id, claimed.attempt.attempt_id)).toBe(4);
    const rest = await second.dequeueRollouts({ limit: 5 });
    expect(rest.map(({ input, attempt }) => [input, attempt.sequence_id])).toEqual([
      ["c", 1],
      ["a", 2],
    ]);
    now += 61;
    expect(await second.checkTimeouts()).toBe(3);
    expect((await second.getRollout(running.rollout_id))?.status).toBe("failed");
    expect((await second.getRollout(made[1]?.rollout_id as string))?.status).toBe("failed");
    await second.close();
  });

  it("is one plain file after close", async () => {
    const store = await openSqliteStore({ path });
    await enqueue(store);
    await store.close();
    expect((await readFile(path)).subarray(0, 15).toString()).toBe("SQLite format 3");
    await expect(stat(`${path}-wal`)).rejects.toThrow("ENOENT");
  });
});

describe("a file that cannot be a store", () => {
  const refusals: Record<string, { make: () => Promise<void>; words: string[] }> = {
    "is a text": {
      make: () => writeFile(path, "these are my notes, not a database\n".repeat(50)),
      words: ["not a SQLite database"],
    },
    "belongs to another program": {
      make: async () => {
        const db = openDatabase(path).db;
        db.exec("CREATE TABLE notes (text TEXT)");
        db.close();
      },
      words: ["another program"],
    },
    "was written by a newer release": {
      make: async () => {
        await (await openSqliteStore({ path })).close();
        const db = openDatabase(path).db;
        db.exec("PRAGMA user_version = 99");
        db.close();
      },
      words: ["99", "update the package"],
    },
    "is a folder": { make: () => mkdir(path).then(() => {}), words: ["folder"] },
    "is cut off": {
      make: async () => {
        const store = await openSqliteStore({ path });
        await enqueue(store, { input: "x".repeat(50_000) });
        await store.close();
        await writeFile(path, (await readFile(path)).subarray(0, 6_000));
      },
      words: ["damaged"],
    },
  };
  for (const [what, { make, words }] of Object.entries(refusals)) {
    it(`is refused when it ${what}, and not changed`, async () => {
      await make();
      const before = (await stat(path)).isDirectory() ? null : await readFile(path);
      const error = await failure(openSqliteStore({ path }));
      expect(error.code).toBe(what === "is cut off" ? "internal" : "invalid_argument");
      for (const word of [path, ...words]) expect(error.message).toContain(word);
      if (before !== null) expect(await readFile(path)).toEqual(before);
    });
  }

  it("is refused when its folder does not exist", async () => {
    const error = await failure(openSqliteStore({ path: join(folder, "missing", "store.db") }));
    expect(error.code).toBe("invalid_argument");
    expect(error.message).toContain(join(folder, "missing"));
  });

  it("is taken when it is empty", async () => {
    await writeFile(path, "");
    const store = await openSqliteStore({ path });
    expect((await enqueue(store)).status).toBe("queuing");
    await store.close();
  });
});

describe("a file that another process has locked", () => {
  it("fails a call as unavailable after the time given, and works again afterwards", async () => {
    const store = await openSqliteStore({ path, busyTimeoutMs: 10 });
    const other = openDatabase(path).db;
    other.exec("BEGIN IMMEDIATE");
    const error = await failure(store.enqueueRollouts([{ input: 1 }]));
    expect([error.code, error.retryable]).toEqual(["unavailable", true]);
    expect(error.message).toContain(path);
    expect((await store.queryRollouts()).total).toBe(0);
    other.exec("ROLLBACK");
    other.close();
    expect((await enqueue(store)).status).toBe("queuing");
    await store.close();
  });
});

describe("the library", () => {
  it("can be named", async () => {
    const store = await openSqliteStore({ path, library: "better-sqlite3" });
    expect((await store.statistics()).name).toBe("SqliteLightningStore");
    await store.close();
  });

  it("of Node itself is used where there is one, and its absence comes with the remedy", async () => {
    if (process.getBuiltinModule?.("node:sqlite") !== undefined) {
      const store = await openSqliteStore({ path, library: "node:sqlite" });
      expect((await enqueue(store)).status).toBe("queuing");
      return store.close();
    }
    const error = await failure(openSqliteStore({ path, library: "node:sqlite" }));
    expect(error.code).toBe("unsupported");
    expect(error.message).toContain("npm install better-sqlite3");
    expect(error.message).toContain("Node 22.13");
  });
});

describe("durability", () => {
  it("is that of the process by default, and of the machine when asked for", async () => {
    for (const durability of ["normal", "full"] as const) {
      const store = await openSqliteStore({ path, durability });
      expect((await enqueue(store)).status).toBe("queuing");
      await store.close();
    }
  });
});
