import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeTracesProto } from "../../src/protocol/otlp/decode-proto.ts";
import { scanTracesProto, wantedNames } from "../../src/protocol/otlp/scan-proto.ts";
import type { AttemptedRollout } from "../../src/protocol/rollout.ts";
import {
  type EncodedSpan,
  type LocalStore,
  openMemoryStore,
  openSqliteStore,
  type SpanInput,
} from "../../src/store/index.ts";
import { openDatabase } from "../../src/store/sqlite-driver.ts";
import { MIGRATIONS } from "../../src/store/sqlite-migrations.ts";
import { sampleSpan } from "../../src/testing/store-contract/harness.ts";
import { requests } from "../server/otlp-model.ts";
import { oracleEncode } from "../server/otlp-oracle.ts";
import { times } from "../times.ts";

let folder: string;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "agl-encoded-"));
});
afterAll(() => rm(folder, { recursive: true }));

const OPEN: Record<string, () => Promise<LocalStore>> = {
  memory: () => openMemoryStore({ ids: fixedIds(), now: () => 7 }),
  SQLite: () => openSqliteStore({ path: join(folder, `${++count}.sqlite`), ids: fixedIds(), now: () => 7 }),
};

function fixedIds() {
  let made = 0;
  return { rollout: () => `ro-${++made}`, attempt: () => `at-${++made}`, resources: () => `rs-${++made}` };
}

type Place = Pick<SpanInput, "rollout_id" | "attempt_id" | "sequence_id">;

/** The spans of a request with everything decoded; places go round. */
function decoded(bytes: Uint8Array, places: readonly Place[]): SpanInput[] {
  const spans: SpanInput[] = [];
  decodeTracesProto(bytes, { left: 1e6 }, (span, resource) => {
    const { trace_id, span_id } = span;
    const context = { trace_id, span_id, is_remote: false, trace_state: {} };
    spans.push({
      ...(places[spans.length % places.length] as Place),
      ...span,
      context,
      parent: null,
      resource,
    });
  });
  return spans;
}

/** The same spans in their bytes. */
function encoded(bytes: Uint8Array, places: readonly Place[]): EncodedSpan[] {
  const spans: EncodedSpan[] = [];
  scanTracesProto(bytes, { left: 1e6 }, wantedNames([]), ({ attributes: _, ...span }) => {
    spans.push({ ...(places[spans.length % places.length] as Place), ...span });
  });
  return spans;
}

/** All that a store says; as JSON, which has no -0. */
async function contents(store: LocalStore, rolloutIds: readonly string[]): Promise<unknown> {
  const spans = await Promise.all(rolloutIds.map((rollout_id) => store.querySpans({ rollout_id })));
  const attempts = await Promise.all(rolloutIds.map((id) => store.queryAttempts(id)));
  const { total_spans } = await store.statistics();
  return JSON.parse(JSON.stringify({ spans, attempts, rollouts: await store.queryRollouts(), total_spans }));
}

describe.each(Object.entries(OPEN))("spans in their bytes, in the %s store", (_, open) => {
  it("are placed, numbered, refused and read like the same spans decoded", async () => {
    const sequence = fc.constantFrom(null, 1, 5, 1_000, -1);
    const batches = fc.array(fc.record({ request: requests, again: fc.boolean(), sequence }), {
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(batches, async (given) => {
        const whole = await open();
        const bytes = await open();
        try {
          const started = (await whole.startRollout({ input: 1 })) as AttemptedRollout;
          expect(await bytes.startRollout({ input: 1 })).toEqual(started);
          const { rollout_id, attempt } = started;
          for (const { request, again, sequence } of given) {
            const body = oracleEncode("ExportTraceServiceRequest", request);
            const own = { rollout_id, attempt_id: attempt.attempt_id, sequence_id: sequence };
            const places = [own, own, { ...own, sequence_id: null }, { ...own, attempt_id: "at-none" }];
            for (let i = 0; i < (again ? 2 : 1); i++) {
              const results = (await whole.addSpans(decoded(body, places))).map((result) => {
                if (result.status === "rejected") return result;
                if (result.status === "duplicate") return { status: "duplicate" };
                return { status: "stored", sequence_id: result.span.sequence_id };
              });
              expect(await bytes.addEncodedSpans(encoded(body, places))).toEqual(results);
            }
          }
          expect(await contents(bytes, [rollout_id])).toEqual(await contents(whole, [rollout_id]));
        } finally {
          await whole.close();
          await bytes.close();
        }
      }),
      times(40),
    );
  }, 120_000);

  it("tell the feed, wake an attempt, and stay beside spans that came whole", async () => {
    const store = await open();
    const { rollout_id, attempt } = await store.startRollout({ input: 1 });
    const events: string[] = [];
    store.subscribe((event) => events.push(event.type));
    const place = { rollout_id, attempt_id: attempt.attempt_id, sequence_id: null };
    const body = oracleEncode("ExportTraceServiceRequest", {
      resourceSpans: [{ scopeSpans: [{ spans: [{ spanId: new Uint8Array(8).fill(3), name: "bytes" }] }] }],
    });
    await store.addSpans([sampleSpan(attempt, 1, { name: "whole" })]);
    await store.addEncodedSpans(encoded(body, [place]));
    await store.addSpans([sampleSpan(attempt, 2, { name: "whole" })]);
    expect((await store.getLatestAttempt(rollout_id))?.status).toBe("running");
    expect(events.filter((type) => type === "spans")).toHaveLength(3);
    const { items } = await store.querySpans({ rollout_id });
    expect(items.map(({ name, sequence_id }) => [name, sequence_id])).toEqual([
      ["whole", 1],
      ["bytes", 2],
      ["whole", 3],
    ]);
    // What was stored first stays, in whichever form the second comes.
    const [duplicate] = await store.addSpans([sampleSpan(attempt, 9, { span_id: "03".repeat(8) })]);
    expect(duplicate).toMatchObject({ status: "duplicate", span: { name: "bytes", sequence_id: 2 } });
    await store.close();
  });
});

it("keeps no memory of the request that the spans came in", async () => {
  const store = await openMemoryStore();
  const { rollout_id, attempt } = await store.startRollout({ input: 1 });
  const body = oracleEncode("ExportTraceServiceRequest", {
    resourceSpans: [{ scopeSpans: [{ spans: [{ spanId: new Uint8Array(8).fill(3), name: "n" }] }] }],
  });
  await store.addEncodedSpans(
    encoded(body, [{ rollout_id, attempt_id: attempt.attempt_id, sequence_id: null }]),
  );
  body.fill(0xff);
  const { items } = await store.querySpans({ rollout_id });
  expect(items).toMatchObject([{ name: "n", span_id: "03".repeat(8), status: { status_code: "UNSET" } }]);
  await store.close();
});

it("opens a file of schema version 1, and its spans read the same", async () => {
  const path = join(folder, "version-1.sqlite");
  const { db } = openDatabase(path);
  db.exec(MIGRATIONS[0] as string);
  db.exec("PRAGMA application_id = 0x41474c53; PRAGMA user_version = 1");
  db.exec(`INSERT INTO rollouts (rollout_id, status, limited, start_time, config, input, latest_attempt_id)
    VALUES ('ro-1', 'running', 0, 1, '{"timeout_seconds":null,"unresponsive_seconds":null,"max_attempts":1,"retry_condition":[]}', '1', 'at-1')`);
  db.exec(`INSERT INTO attempts (rollout_id, attempt_id, sequence_id, status, start_time)
    VALUES ('ro-1', 'at-1', 1, 'running', 1)`);
  const place = { rollout_id: "ro-1", attempt_id: "at-1" };
  const span = { ...sampleSpan(place, 1), sequence_id: 1, extra: { kept: true } };
  const { status, attributes, events, links, context, parent, resource, extra } = span;
  const text = JSON.stringify({ status, attributes, events, links, context, parent, resource, extra });
  db.prepare(
    `INSERT INTO spans (rollout_id, attempt_id, sequence_id, trace_id, span_id, parent_id, name, start_time, end_time,
       event, text) VALUES ('ro-1', 'at-1', 1, ?, ?, ?, ?, ?, ?, NULL, ?)`,
  ).run(span.trace_id, span.span_id, span.parent_id, span.name, span.start_time, span.end_time, text);
  db.exec("INSERT INTO sequences VALUES ('ro-1', 1)");
  db.close();
  for (let opened = 0; opened < 2; opened++) {
    const store = await openSqliteStore({ path });
    expect((await store.querySpans({ rollout_id: "ro-1" })).items).toEqual([span]);
    await store.close();
  }
  const store = await openSqliteStore({ path });
  const body = oracleEncode("ExportTraceServiceRequest", {
    resourceSpans: [{ scopeSpans: [{ spans: [{ spanId: new Uint8Array(8).fill(3), name: "new" }] }] }],
  });
  await store.addEncodedSpans(encoded(body, [{ ...place, sequence_id: null }]));
  const { items } = await store.querySpans({ rollout_id: "ro-1" });
  expect(items.map(({ name, sequence_id }) => [name, sequence_id])).toEqual([
    ["openai.chat.completion", 1],
    ["new", 2],
  ]);
  await store.close();
});
