import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/store/index.ts";
import { startChild } from "./children.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agl-processes-"));
  path = join(folder, "store.db");
});
afterEach(() => rm(folder, { recursive: true }));

const runAll = async (script: string, processes: number): Promise<string[]> => {
  const children = Array.from({ length: processes }, () => startChild<string>(script, [path]));
  await Promise.all(children.map((child) => child.ended));
  expect(children.map((child) => child.process.exitCode)).toEqual(Array(processes).fill(0));
  return children.flatMap((child) => child.lines);
};

describe("several processes on one file", () => {
  it("make it together, and lose nothing", async () => {
    const ids = await runAll("enqueue-some.ts", 3);
    const store = await openSqliteStore({ path });
    expect((await store.queryRollouts()).items.map(({ rollout_id }) => rollout_id).sort()).toEqual(
      ids.sort(),
    );
    await store.close();
  });

  it("claim each rollout once", async () => {
    const store = await openSqliteStore({ path });
    const made = await store.enqueueRollouts(Array.from({ length: 300 }, (_, input) => ({ input })));
    const claimed = await runAll("claim-all.ts", 3);
    expect(claimed.sort()).toEqual(made.map(({ rollout_id }) => rollout_id).sort());
    expect((await store.statistics()).total_attempts).toBe(300);
    await store.close();
  });

  it("see each other's changes, in a wait as soon as time-outs are looked for", async () => {
    const [here, there] = [await openSqliteStore({ path }), await openSqliteStore({ path })];
    const [rollout] = await here.enqueueRollouts([{ input: 1 }]);
    const id = rollout?.rollout_id as string;
    const waiting = here.waitForRollouts([id]);
    await there.updateRollout(id, { status: "succeeded" });
    expect((await here.getRollout(id))?.status).toBe("succeeded");
    await here.checkTimeouts();
    expect((await waiting).map(({ status }) => status)).toEqual(["succeeded"]);
    await Promise.all([here.close(), there.close()]);
  });
});
