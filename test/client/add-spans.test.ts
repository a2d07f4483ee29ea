import { afterEach, describe, expect, it } from "vitest";
import { createLightningStoreClient } from "../../src/client/client.ts";
import type { SpanInput } from "../../src/store/interface.ts";
import { type ScriptedServer, type Seen, type Step, serveScript } from "./scripted-server.ts";

const KEYS = [
  "attempt_id",
  "attributes",
  "context",
  "end_time",
  "events",
  "links",
  "name",
  "parent",
  "parent_id",
  "resource",
  "rollout_id",
  "sequence_id",
  "span_id",
  "start_time",
  "status",
  "trace_id",
];

/** A span as a caller without types could give it: only what identifies it. */
function bare(spanId: string, sequence_id?: number | null): SpanInput {
  return {
    rollout_id: "ro-1",
    attempt_id: "at-1",
    trace_id: "0".repeat(31).concat("1"),
    span_id: spanId,
    name: "n",
    ...(sequence_id === undefined ? {} : { sequence_id }),
  } as SpanInput;
}

let server: ScriptedServer;
afterEach(() => server.close());

/** The routes of the Python server, as far as spans go. */
function pythonRoutes(known: Set<string>, unknownBatch: Step): (seen: Seen) => Step {
  let sequence = 40;
  return ({ path, body }) => {
    const span = body as SpanInput;
    if (path === "/v1/agl/spans/batch") return unknownBatch;
    if (path === "/v1/agl/spans/next") return { json: { sequence_id: ++sequence } };
    if (path === "/v1/agl/spans/search") return { json: { items: [{ ...span, name: "the first one" }] } };
    if (span.rollout_id === "ro-unknown") {
      const traceback = "Traceback\nValueError: Rollout ro-unknown not found\n";
      return { status: 500, json: { detail: "Internal server error", error_type: "ValueError", traceback } };
    }
    if (span.name === "nested") return { status: 422, json: { detail: [{ msg: "bad attribute" }] } };
    if (known.has(span.span_id)) return { status: 201, json: null };
    known.add(span.span_id);
    return { status: 201, json: span };
  };
}

describe("addSpans", () => {
  it("sends whole spans in batches where the server takes them", async () => {
    server = await serveScript(({ body }) => ({
      json: (body as { spans: SpanInput[] }).spans.map((span) => ({ status: "stored", span })),
    }));
    const store = createLightningStoreClient({ url: server.url });
    const spans = Array.from({ length: 1_201 }, (_, i) => bare(`s${i}`, i + 1));
    const results = await store.addSpans(spans);
    expect(server.seen.map(({ path, body }) => [path, (body as { spans: unknown[] }).spans.length])).toEqual([
      ["/v1/agl/spans/batch", 500],
      ["/v1/agl/spans/batch", 500],
      ["/v1/agl/spans/batch", 201],
    ]);
    expect(results.map((result) => result.status !== "rejected" && result.span.span_id)).toEqual(
      spans.map((span) => span.span_id),
    );
    const first = server.seen[0]?.body as { spans: object[] };
    expect(Object.keys(first.spans[0] ?? {}).sort()).toEqual(KEYS);
  });

  for (const [name, step] of Object.entries<Step>({
    "404": { status: 404, json: { detail: "Not Found" } },
    "405, as its page route does": { status: 405, json: { detail: "Method Not Allowed" } },
  })) {
    it(`falls back to one request a span after ${name}, and remembers it`, async () => {
      server = await serveScript(pythonRoutes(new Set(["old"]), step));
      const store = createLightningStoreClient({ url: server.url });
      const unknown = { ...bare("x", 1), rollout_id: "ro-unknown" };
      const nested = { ...bare("y", 1), name: "nested" };
      const results = await store.addSpans([
        bare("a", 5),
        bare("old", 6),
        unknown,
        nested,
        bare("b"),
        bare("c", 0),
      ]);
      expect(results.map((result) => result.status)).toEqual([
        "stored",
        "duplicate",
        "rejected",
        "rejected",
        "stored",
        "stored",
      ]);
      expect(results[1]).toMatchObject({
        span: { name: "the first one", span_id: "old", attempt_id: "at-1" },
      });
      expect(results[2]).toMatchObject({ reason: expect.stringContaining("Rollout ro-unknown not found") });
      expect(results.slice(4)).toMatchObject([{ span: { sequence_id: 41 } }, { span: { sequence_id: 42 } }]);
      for (const { path, body } of server.seen) {
        if (path === "/v1/agl/spans") expect(Object.keys(body as object).sort()).toEqual(KEYS);
      }
      await store.addSpans([bare("d", 9)]);
      expect(server.seen.filter(({ path }) => path.endsWith("/batch"))).toHaveLength(1);
    });
  }

  it("sends nothing for nothing", async () => {
    server = await serveScript([{ json: [] }]);
    expect(await createLightningStoreClient({ url: server.url }).addSpans([])).toEqual([]);
    expect(server.seen).toEqual([]);
  });
});
