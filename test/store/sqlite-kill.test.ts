import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/store/index.ts";
import { startChild } from "./children.ts";
import type { Acknowledgement } from "./write-until-killed.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agl-kill-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function writeAndKill(path: string, killAfter: number): Promise<Acknowledgement[]> {
  const child = startChild<Acknowledgement>("write-until-killed.ts", [path], ({ lines, process }) => {
    if (lines.length === killAfter) process.kill("SIGKILL");
  });
  await child.ended;
  expect(child.process.signalCode).toBe("SIGKILL");
  return child.lines;
}

function only<O extends Acknowledgement["op"]>(all: Acknowledgement[], op: O) {
  return all.filter((line): line is Extract<Acknowledgement, { op: O }> => line.op === op);
}

async function assertAllThere(path: string, all: Acknowledgement[]): Promise<void> {
  const store = await openSqliteStore({ path });
  try {
    for (const { id, attempt, worker } of only(all, "claim")) {
      const rollout = await store.getRollout(id);
      expect(rollout).toMatchObject({ attempt: { attempt_id: attempt, worker_id: worker } });
      expect(["queuing", "requeuing"]).not.toContain(rollout?.status);
      expect(await store.getWorker(worker)).not.toBeNull();
    }
    for (const { id, attempt, spans } of only(all, "spans")) {
      const { items } = await store.querySpans({ rollout_id: id, attempt_id: attempt });
      expect(items.map((span) => [span.span_id, span.sequence_id])).toEqual(spans);
      expect(items[0]?.attributes["text"]).toBe("näïve 日本 😀");
    }
    for (const { id, status } of only(all, "finish")) {
      expect((await store.getRollout(id))?.status).toBe(status);
    }
    const versions = only(all, "resources").map(({ version }) => version);
    const latest = (await store.getLatestResources())?.version ?? 0;
    // One update may have lasted without its acknowledgement.
    expect([versions.at(-1) ?? 0, (versions.at(-1) ?? 0) + 1]).toContain(latest);
    for (const { id, sequence } of only(all, "sequence")) {
      const { attempt_id } = (await store.getLatestAttempt(id)) as { attempt_id: string };
      expect(await store.nextSequenceId(id, attempt_id)).toBeGreaterThan(sequence);
    }

    const enqueued = only(all, "enqueue").flatMap(({ ids }) => ids);
    const claimed = new Set(only(all, "claim").map(({ id }) => id));
    const rows = await store.queryRollouts({ rollout_id_in: enqueued });
    expect(rows.total).toBe(enqueued.length);
    const started = rows.items.filter((rollout) => "attempt" in rollout && !claimed.has(rollout.rollout_id));
    expect(started.length).toBeLessThanOrEqual(1);
    const left = (await store.dequeueRollouts({ limit: 100_000 })).map(({ rollout_id }) => rollout_id);
    const waiting = enqueued.filter((id) => !claimed.has(id) && id !== started[0]?.rollout_id);
    expect(left.slice(0, waiting.length)).toEqual(waiting);
    // At most the two of a last, unacknowledged batch.
    expect(left.length - waiting.length).toBeLessThanOrEqual(2);
  } finally {
    await store.close();
  }
}

describe("a process that is killed with SIGKILL", () => {
  for (const killAfter of [1, 2, 3, 5, 29, 88, 201]) {
    it(`leaves all that it acknowledged (${killAfter} acknowledgements)`, async () => {
      const path = join(folder, "store.db");
      const all = await writeAndKill(path, killAfter);
      expect(all.length).toBeGreaterThanOrEqual(killAfter);
      await assertAllThere(path, all);
    });
  }
});
