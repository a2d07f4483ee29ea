/**
 * Writes to the store in the file `argv[2]` without end, and prints each acknowledgement as a line of JSON.
 *
 * @module
 */
import { writeSync } from "node:fs";
import { openSqliteStore } from "../../src/store/index.ts";
import { sampleSpan } from "../../src/testing/store-contract/harness.ts";

/** What was acknowledged. */
export type Acknowledgement =
  | { op: "enqueue"; ids: string[] }
  | { op: "claim"; id: string; attempt: string; worker: string }
  | { op: "spans"; id: string; attempt: string; spans: [spanId: string, sequence: number][] }
  | { op: "sequence"; id: string; sequence: number }
  | { op: "finish"; id: string; status: "succeeded" | "failed" }
  | { op: "resources"; id: string; version: number };

const store = await openSqliteStore({ path: process.argv[2] as string });
// Written by one system call: what the parent reads was acknowledged, and nothing waits in a buffer.
const acknowledge = (line: Acknowledgement): void => void writeSync(1, `${JSON.stringify(line)}\n`);

for (let round = 0; ; round++) {
  const made = await store.enqueueRollouts([{ input: { round, part: 0 } }, { input: { round, part: 1 } }]);
  acknowledge({ op: "enqueue", ids: made.map(({ rollout_id }) => rollout_id) });
  const worker = `w-${round % 3}`;
  const [claimed] = await store.dequeueRollouts({ worker_id: worker });
  if (claimed === undefined) throw new Error("the queue is empty");
  const { rollout_id: id, attempt } = claimed;
  acknowledge({ op: "claim", id, attempt: attempt.attempt_id, worker });
  const results = await store.addSpans([1, 2, 3].map((index) => sampleSpan(attempt, index)));
  acknowledge({
    op: "spans",
    id,
    attempt: attempt.attempt_id,
    spans: results.map((result) => {
      if (result.status !== "stored") throw new Error(result.status);
      return [result.span.span_id, result.span.sequence_id];
    }),
  });
  acknowledge({ op: "sequence", id, sequence: await store.nextSequenceId(id, attempt.attempt_id) });
  if (round % 2 === 0) {
    const status = round % 4 === 0 ? "succeeded" : "failed";
    await store.updateAttempt(id, attempt.attempt_id, { status });
    acknowledge({ op: "finish", id, status });
  }
  const { resources_id, version } = await store.updateResources("shared", {});
  acknowledge({ op: "resources", id: resources_id, version });
}
