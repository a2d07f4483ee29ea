import { deflateRawSync, deflateSync, gunzipSync, gzipSync } from "node:zlib";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { describe, expect, test } from "vitest";
import type { AppOptions } from "../../src/server/app.ts";
import { serveStore } from "../../src/server/serve.ts";
import type { LocalStore } from "../../src/store/interface.ts";
import { openMemoryStore } from "../../src/store/memory-store.ts";
import { openSqliteStore } from "../../src/store/sqlite-store.ts";
import { openApp } from "./calling.ts";
import { oracleDecode, oracleEncode } from "./otlp-oracle.ts";

const PROTOBUF = "application/x-protobuf";
const JSON_TYPE = "application/json";

type Value = string | number | boolean | number[];

function anyOf(value: Value): object {
  if (Array.isArray(value))
    return { case: "arrayValue", value: { values: value.map((each) => ({ value: anyOf(each) })) } };
  if (typeof value === "string") return { case: "stringValue", value };
  if (typeof value === "boolean") return { case: "boolValue", value };
  return Number.isInteger(value)
    ? { case: "intValue", value: BigInt(value) }
    : { case: "doubleValue", value };
}

const pairs = (attributes: Record<string, Value>) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: { value: anyOf(value) } }));

/** A request of spans named by their ids, in protobuf. */
function request(
  spans: { id: number; attributes?: Record<string, Value> }[],
  resource: Record<string, Value> = {},
) {
  return oracleEncode("ExportTraceServiceRequest", {
    resourceSpans: [
      {
        resource: { attributes: pairs(resource) },
        scopeSpans: [
          {
            spans: spans.map(({ id, attributes }) => ({
              traceId: new Uint8Array(16).fill(1),
              spanId: id === 0 ? new Uint8Array(8) : new Uint8Array(8).fill(id),
              name: `span ${id}`,
              startTimeUnixNano: 1_700_000_000_500_000_000n,
              endTimeUnixNano: 1_700_000_001_500_000_000n,
              attributes: pairs(attributes ?? {}),
            })),
          },
        ],
      },
    ],
  });
}

async function open(options: Omit<AppOptions, "store"> = {}) {
  const app = await openApp(options);
  const rollout = await app.store.startRollout({ input: 1 });
  const rolloutId = rollout.rollout_id;
  const ids = {
    "agentlightning.rollout_id": rolloutId,
    "agentlightning.attempt_id": rollout.attempt.attempt_id,
  };
  const send = async (body: Uint8Array | string, headers: Record<string, string> = {}) => {
    const response = await app.app.request("/v1/traces", {
      method: "POST",
      headers: { "content-type": PROTOBUF, ...headers },
      body: body as string,
    });
    return {
      status: response.status,
      headers: response.headers,
      bytes: new Uint8Array(await response.arrayBuffer()),
    };
  };
  const stored = async () => (await app.store.querySpans({ rollout_id: rolloutId })).items;
  return { ...app, rolloutId, ids, send, stored };
}

const partialOf = (bytes: Uint8Array) =>
  oracleDecode("ExportTraceServiceResponse", bytes)["partialSuccess"] as
    | { rejectedSpans: bigint; errorMessage: string }
    | undefined;
const statusOf = (bytes: Uint8Array) =>
  oracleDecode("RpcStatus", bytes) as unknown as { code: number; message: string };
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe("large bodies, whose memory is used again", () => {
  const LARGE = Array.from({ length: 12 }, (_, i) => 70_000 * (1 + i));
  const textFor = (i: number) => `${i}:${"abcdefghijkl"[i]}`.repeat(1 + Math.ceil(LARGE[i]! / 4));
  const sizes = async (
    stored: () => Promise<readonly { span_id: string; attributes: Record<string, unknown> }[]>,
  ) =>
    Object.fromEntries(
      (await stored()).map(({ span_id, attributes }) => [span_id.slice(0, 2), attributes["text"]] as const),
    );
  const expected = Object.fromEntries(
    LARGE.map((_, i) => [(i + 1).toString(16).padStart(2, "0"), textFor(i)]),
  );

  test.each<[string, () => Promise<LocalStore>]>([
    ["memory", () => openMemoryStore()],
    ["SQLite", () => openSqliteStore({ path: ":memory:" })],
  ])(
    "are stored as they came, at once and one after the other, among broken ones (%s)",
    async (_, openStore) => {
      const store = await openStore();
      await using server = await serveStore({ store, port: 0 });
      const { rollout_id, attempt } = await store.startRollout({ input: 1 });
      const ids = {
        "agentlightning.rollout_id": rollout_id,
        "agentlightning.attempt_id": attempt.attempt_id,
      };
      const post = async (body: Uint8Array, type = PROTOBUF) => {
        const headers = { "content-type": type };
        const response = await fetch(`${server.url}/v1/traces`, {
          method: "POST",
          headers,
          body: body as Uint8Array<ArrayBuffer>,
        });
        await response.arrayBuffer();
        return response.status;
      };
      const one = (i: number) => request([{ id: i + 1, attributes: { ...ids, text: textFor(i) } }]);
      const broken = one(3).slice(0, -1);
      const all = LARGE.slice(0, 8).flatMap((_, i) => [post(one(i)), post(broken), post(broken, JSON_TYPE)]);
      expect(await Promise.all(all)).toEqual(LARGE.slice(0, 8).flatMap(() => [200, 400, 400]));
      for (let i = 8; i < LARGE.length; i++) expect(await post(one(i))).toBe(200);
      const stored = async () => (await store.querySpans({ rollout_id, limit: -1 })).items;
      expect(await sizes(stored)).toEqual(expected);
    },
  );

  test.each([-30_000, 30_000, 2_000_000])("count as long as they are, not as they say (%d)", async (off) => {
    const { ids, send, stored } = await open();
    const body = request([{ id: 1, attributes: { ...ids, text: textFor(4) } }]);
    expect((await send(body, { "content-length": String(body.length + off) })).status).toBe(200);
    expect(await sizes(stored)).toEqual({ "01": textFor(4) });
  });
});

describe("what is stored", () => {
  test("is answered by a body whose length is said to be 0", async () => {
    const { ids, send, stored } = await open();
    const { status, headers, bytes } = await send(request([{ id: 1, attributes: ids }]), {
      "accept-encoding": "gzip",
    });
    expect({ status, bytes, headers: Object.fromEntries(headers) }).toEqual({
      status: 200,
      bytes: new Uint8Array(),
      headers: { "content-type": PROTOBUF, "content-length": "0" },
    });
    expect(await stored()).toHaveLength(1);
  });

  test("spans of the OpenTelemetry SDK, as upstream maps them", async () => {
    const { ids, rolloutId, send, stored } = await open();
    const exporter = new InMemorySpanExporter();
    const provider = new TracerProvider({
      resource: resourceFromAttributes({ "service.name": "agent", ...ids }),
      spanProcessors: [new SimpleSpanProcessor({ exporter })],
    });
    const tokens = Array.from({ length: 2_000 }, (_, i) => (i * 7_919) % 151_936);
    const span = provider.getTracer("t").startSpan("openai.chat.completion", {
      startTime: [1_700_000_000, 123_456_789],
      attributes: {
        prompt_token_ids: tokens,
        "agent.name": "planner é😀",
        n: -1,
        f: 0.25,
        b: true,
        s: ["x", "y"],
      },
    });
    span.addEvent("first token", { index: 0 }, [1_700_000_000, 500_000_000]);
    span.setStatus({ code: 2, message: "bad" });
    span.end([1_700_000_002, 0]);
    const body = ProtobufTraceSerializer.serializeRequest(exporter.getFinishedSpans()) as Uint8Array;
    expect(await send(body)).toMatchObject({ status: 200, bytes: new Uint8Array() });
    const { traceId, spanId } = span.spanContext();
    expect(await stored()).toEqual([
      {
        rollout_id: rolloutId,
        attempt_id: ids["agentlightning.attempt_id"],
        sequence_id: 1,
        trace_id: traceId,
        span_id: spanId,
        parent_id: null,
        name: "openai.chat.completion",
        status: { status_code: "ERROR", description: "bad" },
        attributes: {
          prompt_token_ids: tokens,
          "agent.name": "planner é😀",
          n: -1,
          f: 0.25,
          b: true,
          s: ["x", "y"],
        },
        events: [{ name: "first token", attributes: { index: 0 }, timestamp: 1_700_000_000.5 }],
        links: [],
        start_time: 1_700_000_000.1234567,
        end_time: 1_700_000_002,
        context: { trace_id: traceId, span_id: spanId, is_remote: false, trace_state: {} },
        parent: null,
        resource: { attributes: { "service.name": "agent", ...ids }, schema_url: "" },
      },
    ]);
  });

  test("a span's own ids win over its resource's", async () => {
    const { ids, send, stored, store } = await open();
    const other = await store.startRollout({ input: 2 });
    const own = {
      "agentlightning.rollout_id": other.rollout_id,
      "agentlightning.attempt_id": other.attempt.attempt_id,
    };
    await send(request([{ id: 1, attributes: own }, { id: 2 }], ids));
    expect((await stored()).map((span) => span.name)).toEqual(["span 2"]);
    const elsewhere = await store.querySpans({ rollout_id: other.rollout_id });
    expect(elsewhere.items.map((span) => span.name)).toEqual(["span 1"]);
  });

  test.each<[Value, number]>([
    ["41", 41],
    [41, 41],
    [" +41 ", 41],
    ["0", 1],
    [-3, 1],
    ["x", 1],
    ["4.5", 1],
    [true, 1],
    ["99999999999999999999", 1],
  ])("a sequence id of %j is stored as %d", async (given, expected) => {
    const { ids, send, stored } = await open();
    await send(request([{ id: 1, attributes: { "agentlightning.span_sequence_id": given } }], ids));
    expect((await stored())[0]?.sequence_id).toBe(expected);
  });

  test("the same export twice stores once and is a success both times", async () => {
    const { ids, send, stored } = await open();
    const body = request([{ id: 1 }, { id: 2 }], ids);
    for (let i = 0; i < 2; i++)
      expect(await send(body)).toMatchObject({ status: 200, bytes: new Uint8Array() });
    expect(await stored()).toHaveLength(2);
  });

  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["deflate", deflateRawSync],
    ["GZIP", gzipSync],
    ["identity", (body: Uint8Array) => body],
  ])("a body in %s", async (encoding, compress) => {
    const { ids, send, stored } = await open();
    const answer = await send(compress(request([{ id: 1 }], ids)), { "content-encoding": encoding });
    expect(answer.status).toBe(200);
    expect(await stored()).toHaveLength(1);
  });

  test("JSON, answered in JSON", async () => {
    const { ids, send, stored } = await open();
    const attributes = Object.entries(ids).map(([key, stringValue]) => ({ key, value: { stringValue } }));
    const span = {
      traceId: "5B8EFFF798038103D269B633813FC60C",
      spanId: "eee19b7ec3c1b174",
      parentSpanId: "eee19b7ec3c1b173",
      name: "json",
      startTimeUnixNano: "1700000000500000000",
      endTimeUnixNano: 1700000001000000000,
      attributes: [{ key: "ids", value: { arrayValue: { values: [{ intValue: "1" }, { intValue: 2 }] } } }],
      status: { code: 1 },
      unknownField: [1],
    };
    const body = { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans: [span] }] }] };
    const answer = await send(JSON.stringify(body), { "content-type": "application/json; charset=utf-8" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe(JSON_TYPE);
    expect(textOf(answer.bytes)).toBe("{}");
    expect((await stored())[0]).toMatchObject({
      trace_id: "5b8efff798038103d269b633813fc60c",
      span_id: "eee19b7ec3c1b174",
      parent_id: "eee19b7ec3c1b173",
      attributes: { ids: [1, 2] },
      start_time: 1_700_000_000.5,
      end_time: 1_700_000_001,
      status: { status_code: "OK", description: null },
    });
  });

  test("an empty export is a success", async () => {
    const { send } = await open();
    expect(await send("")).toMatchObject({ status: 200, bytes: new Uint8Array() });
    expect((await send("{}", { "content-type": JSON_TYPE })).status).toBe(200);
  });

  test("a key named __proto__ is a key like any other", async () => {
    const { ids, send, stored } = await open();
    await send(request([{ id: 1, attributes: { ["__proto__"]: "x", constructor: "y" } }], ids));
    const attributes = (await stored())[0]?.attributes ?? {};
    expect(Object.entries(attributes)).toEqual([
      ["__proto__", "x"],
      ["constructor", "y"],
    ]);
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });
});

describe("what has no place is told, the rest is stored", () => {
  test("missing ids, an unknown rollout or attempt, no span id", async () => {
    const { ids, send, stored } = await open();
    const nowhere = { "agentlightning.rollout_id": "ro-none" };
    const lost = { "agentlightning.attempt_id": "at-none" };
    const body = request(
      [{ id: 1 }, { id: 2, attributes: nowhere }, { id: 3, attributes: lost }, { id: 0 }, { id: 4 }],
      ids,
    );
    const answer = await send(body);
    expect(answer.status).toBe(200);
    const partial = partialOf(answer.bytes);
    expect(partial?.rejectedSpans).toBe(3n);
    expect(partial?.errorMessage).toMatch(/ro-none/);
    expect(partial?.errorMessage).toMatch(/at-none/);
    expect(partial?.errorMessage).toMatch(/no span id/);
    expect((await stored()).map((span) => span.name)).toEqual(["span 1", "span 4"]);
  });

  test("many spans without ids make one short message, in JSON too", async () => {
    const { send, ids } = await open();
    const spans = Array.from({ length: 200 }, (_, i) => ({ id: i + 1 }));
    const partial = partialOf((await send(request(spans))).bytes);
    expect(partial?.rejectedSpans).toBe(200n);
    expect(partial?.errorMessage).toBe(
      "Spans that were not stored: 200: no attribute agentlightning.rollout_id",
    );
    const json = { resourceSpans: [{ scopeSpans: [{ spans: [{ name: "a" }] }] }] };
    const answer = await send(JSON.stringify(json), { "content-type": JSON_TYPE });
    expect(JSON.parse(textOf(answer.bytes))).toEqual({
      partialSuccess: {
        rejectedSpans: "1",
        errorMessage: "Spans that were not stored: 1: no attribute agentlightning.rollout_id",
      },
    });
    const noAttempt = partialOf(
      (await send(request([{ id: 1 }], { "agentlightning.rollout_id": ids["agentlightning.rollout_id"] })))
        .bytes,
    );
    expect(noAttempt?.errorMessage).toMatch("no attribute agentlightning.attempt_id");
  });
});

describe("refusals", () => {
  const bad = Buffer.from("ffffffff", "hex");

  test.each([
    ["protobuf", bad, {}],
    ["a cut off message", request([{ id: 1 }]).slice(0, -3), {}],
    ["JSON instead", "{}", {}],
    ["broken gzip", bad, { "content-encoding": "gzip" }],
    ["cut off gzip", gzipSync(request([{ id: 1 }])).subarray(0, 20), { "content-encoding": "gzip" }],
    ["broken deflate", bad, { "content-encoding": "deflate" }],
  ])("%s that cannot be read is 400 with a Status in protobuf", async (_, body, headers) => {
    const { send } = await open();
    const answer = await send(body, headers);
    expect(answer.status).toBe(400);
    expect(answer.headers.get("content-type")).toBe(PROTOBUF);
    expect(statusOf(answer.bytes)).toMatchObject({
      code: 3,
      message: expect.stringMatching(/malformed|inflated/),
    });
  });

  test.each([
    "{",
    "[]",
    "null",
    '"x"',
    '{"resourceSpans":{}}',
    '{"resourceSpans":[{"scopeSpans":[{"spans":[1]}]}]}',
  ])("JSON %s is 400 with a Status in JSON", async (body) => {
    const { send } = await open();
    const answer = await send(body, { "content-type": JSON_TYPE });
    expect(answer.status).toBe(400);
    expect(JSON.parse(textOf(answer.bytes))).toEqual({
      code: 3,
      message: expect.stringContaining("malformed"),
    });
  });

  test.each(["text/plain", "", "application/grpc", "application/x-protobuf2"])(
    "content type %j is 415",
    async (type) => {
      const { send } = await open();
      const answer = await send("x", { "content-type": type });
      expect(answer.status).toBe(415);
      expect(JSON.parse(textOf(answer.bytes)).message).toContain("application/x-protobuf");
    },
  );

  test("an unknown content encoding is 415", async () => {
    const { send } = await open();
    const answer = await send("x", { "content-encoding": "br" });
    expect(answer.status).toBe(415);
    expect(statusOf(answer.bytes).message).toContain("br");
  });

  test.each([
    ["as declared", request([{ id: 1, attributes: { text: "x".repeat(2_000) } }]), {}],
    ["as inflated by gzip", gzipSync(Buffer.alloc(500_000)), { "content-encoding": "gzip" }],
    ["as inflated by deflate", deflateSync(Buffer.alloc(500_000)), { "content-encoding": "deflate" }],
  ])("too large %s is 413", async (_, body, headers) => {
    const { send } = await open({ limits: { maxBodyBytes: 1_000 } });
    const answer = await send(
      body.length > 1_000 && "content-encoding" in headers ? body.subarray(0) : body,
      headers,
    );
    expect(answer.status).toBe(413);
    expect(statusOf(answer.bytes)).toMatchObject({ code: 8, message: expect.stringContaining("1000 bytes") });
  });

  test("a bomb whose wire size is allowed stops at the cap", async () => {
    const { send } = await open({ limits: { maxBodyBytes: 100_000 } });
    const bomb = gzipSync(Buffer.alloc(8_000_000));
    expect(bomb.length).toBeLessThan(100_000);
    expect((await send(bomb, { "content-encoding": "gzip" })).status).toBe(413);
  });

  test("too many objects is 413", async () => {
    const { ids, send, stored } = await open({ limits: { maxExportObjects: 5 } });
    expect((await send(request([{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }], ids))).status).toBe(413);
    expect(await stored()).toEqual([]);
  });

  test("a broken message stores nothing of itself", async () => {
    const { ids, send, stored } = await open();
    const body = Buffer.concat([request([{ id: 1 }], ids), Buffer.from([0x0a, 0x05, 0x12])]);
    expect((await send(body)).status).toBe(400);
    expect(await stored()).toEqual([]);
  });

  test("a large resource costs nothing for each span that has no place", async () => {
    const { send } = await open();
    const spans = Array.from({ length: 20_000 }, () => ({ id: 0 }));
    // A copy of the resource for each of them would be 20 GB.
    const answer = await send(request(spans, { note: "x".repeat(1_000_000) }));
    expect(answer.status).toBe(200);
    expect(partialOf(answer.bytes)?.rejectedSpans).toBe(20_000n);
  });

  test("a fault of the store is 500 without a word of it", async () => {
    const { ids, send, store } = await open();
    store.addEncodedSpans = () => Promise.reject(new Error("disk /secret"));
    const fault = await send(request([{ id: 1 }], ids));
    expect(fault.status).toBe(500);
    expect(statusOf(fault.bytes)).toMatchObject({ code: 13, message: "Internal server error" });
  });
});

describe("overload", () => {
  test("more exports than allowed at once are 503 with Retry-After, and taken later", async () => {
    const { ids, send, store, stored } = await open({ limits: { maxExports: 1 } });
    const addEncodedSpans = store.addEncodedSpans.bind(store);
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    let entered = () => {};
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    store.addEncodedSpans = async (spans) => {
      entered();
      await gate;
      return addEncodedSpans(spans);
    };
    const first = send(request([{ id: 1 }], ids));
    await inside;
    const second = await send(request([{ id: 2 }], ids));
    expect(second.status).toBe(503);
    expect(second.headers.get("retry-after")).toBe("1");
    expect(statusOf(second.bytes).code).toBe(14);
    go();
    expect((await first).status).toBe(200);
    expect((await send(request([{ id: 2 }], ids))).status).toBe(200);
    expect(await stored()).toHaveLength(2);
  });

  test("more bytes than the server holds are 503, and given back", async () => {
    const { ids, send } = await open({ limits: { maxBufferedBytes: 1_000 } });
    const large = request([{ id: 1, attributes: { text: "x".repeat(2_000) } }], ids);
    for (let i = 0; i < 3; i++) expect((await send(large)).status).toBe(503);
    // Counted as sent and again as inflated.
    expect((await send(gzipSync(large), { "content-encoding": "gzip" })).status).toBe(503);
    for (let i = 1; i < 10; i++) expect((await send(request([{ id: i }], ids))).status).toBe(200);
  });
});

describe("the answer is compressed as asked", () => {
  test.each([
    ["gzip, deflate", true],
    ["deflate, GZIP;q=0.5", true],
    ["gzip;q=0", false],
    ["identity", false],
    ["", false],
  ])("Accept-Encoding %j", async (accepted, compressed) => {
    const { send } = await open();
    const answer = await send(request([{ id: 1 }]), { "accept-encoding": accepted });
    expect(answer.headers.get("content-encoding")).toBe(compressed ? "gzip" : null);
    const bytes = compressed ? gunzipSync(answer.bytes) : answer.bytes;
    expect(partialOf(bytes)?.rejectedSpans).toBe(1n);
  });

  test("nothing to tell", async () => {
    const { send, ids } = await open();
    const answer = await send(request([{ id: 1 }], ids), { "accept-encoding": "gzip" });
    expect(answer.headers.get("content-encoding")).toBe(null);
    expect(partialOf(answer.bytes)?.rejectedSpans ?? 0n).toBe(0n);
  });
});
