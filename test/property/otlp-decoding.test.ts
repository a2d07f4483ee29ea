import fc from "fast-check";
import { expect, test } from "vitest";
import { AglError } from "../../src/errors.ts";
import { decodeTracesJson } from "../../src/protocol/otlp/decode-json.ts";
import { decodeTracesProto } from "../../src/protocol/otlp/decode-proto.ts";
import { varint, wrap } from "../server/otlp-bytes.ts";
import { meaningOf, type RequestModel, requests, toJson, type Visited } from "../server/otlp-model.ts";
import { oracleDecode, oracleEncode } from "../server/otlp-oracle.ts";
import { times } from "../times.ts";

const REQUEST = "ExportTraceServiceRequest";

function decodeProto(bytes: Uint8Array, left = 1_000_000): Visited[] {
  const visited: Visited[] = [];
  decodeTracesProto(bytes, { left }, (span, resource) => visited.push({ span, resource }));
  return visited;
}

function decodeJson(value: unknown): Visited[] {
  const visited: Visited[] = [];
  decodeTracesJson(value, { left: 1_000_000 }, (span, resource) => visited.push({ span, resource }));
  return visited;
}

/** Runs a decoder on what may be broken: gives spans, or undefined for the one kind of error it may throw. */
function decodeOrRefuse(decode: () => Visited[]): Visited[] | undefined {
  try {
    return decode();
  } catch (error) {
    if (AglError.is(error) && (error.code === "invalid_argument" || error.code === "payload_too_large"))
      return;
    throw error;
  }
}

test("what a generated encoder writes is read as it was meant", () => {
  fc.assert(
    fc.property(requests, (request) => {
      expect(decodeProto(oracleEncode(REQUEST, request))).toEqual(meaningOf(request));
    }),
    times(400),
  );
});

test("the same request in JSON means the same", () => {
  fc.assert(
    fc.property(requests, fc.boolean(), (request, intAsText) => {
      // Through text, as it arrives.
      const json = JSON.parse(JSON.stringify(toJson(request, intAsText)));
      expect(decodeJson(json)).toEqual(withoutMinusZero(meaningOf(request)));
    }),
    times(400),
  );
});

/** JSON text has no -0. */
function withoutMinusZero(visited: Visited[]): Visited[] {
  return JSON.parse(JSON.stringify(visited)) as Visited[];
}

test("broken bytes are refused or read, never anything else; what a generated decoder reads alike is read alike", () => {
  let read = 0;
  let refused = 0;
  const damage = fc.array(fc.record({ at: fc.nat(), byte: fc.nat(255), cut: fc.boolean() }), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(requests, damage, (request, changes) => {
      let bytes = oracleEncode(REQUEST, request);
      for (const { at, byte, cut } of changes) {
        if (bytes.length === 0) return;
        if (cut && changes.length === 1) bytes = bytes.slice(0, at % bytes.length);
        else bytes[at % bytes.length] = byte;
      }
      const ours = decodeOrRefuse(() => decodeProto(bytes));
      if (ours === undefined) refused++;
      else read++;
      const canonical = reencoded(bytes);
      if (canonical === undefined || ours === undefined) return;
      // A generated decoder has read it: written anew by it, the message must give the same spans.
      expect(decodeProto(canonical).map(headOf)).toEqual(ours.map(headOf));
    }),
    times(3_000),
  );
  expect(read).toBeGreaterThan(100);
  expect(refused).toBeGreaterThan(100);
});

/** What no two ways to merge a field that comes twice can make differ. */
function headOf({ span: { trace_id, span_id, parent_id, name, start_time, end_time } }: Visited) {
  return { trace_id, span_id, parent_id, name, start_time, end_time };
}

function reencoded(bytes: Uint8Array): Uint8Array | undefined {
  try {
    return oracleEncode(REQUEST, oracleDecode(REQUEST, bytes) as unknown as RequestModel);
  } catch {
    return undefined;
  }
}

test("a known field of another wire type is passed over like an unknown one", () => {
  const payloads: Record<number, number[]> = {
    0: [1],
    1: Array(8).fill(9),
    2: [1, 0x61],
    5: Array(4).fill(9),
  };
  // Around one span named "n", with `extra` in the request, the resource's spans, the scope's spans or the span.
  const request = (level: number, extra: number[]) => {
    const after = (here: number, rest: Uint8Array) =>
      here === level ? Buffer.concat([Uint8Array.from(extra), rest]) : rest;
    const span = after(3, wrap(0x2a, Buffer.from("n")));
    const scope = after(2, wrap(0x12, span));
    return after(0, wrap(0x0a, after(1, wrap(0x12, scope))));
  };
  const plain = decodeProto(request(0, []));
  expect(plain.map(({ span }) => span.name)).toEqual(["n"]);
  // The wire type of each field that is read, by its number; one list a level.
  const fits: Record<number, number>[] = [
    { 1: 2 },
    { 1: 2, 2: 2, 3: 2 },
    { 2: 2 },
    { 1: 2, 2: 2, 4: 2, 5: 2, 7: 1, 8: 1, 9: 2, 11: 2, 13: 2, 15: 2 },
  ];
  for (const [level, fields] of fits.entries()) {
    for (const [number, fit] of Object.entries(fields)) {
      for (const [type, payload] of Object.entries(payloads)) {
        if (Number(type) === fit) continue;
        const misfit = [...varint((Number(number) << 3) | Number(type)), ...payload];
        expect(decodeProto(request(level, misfit))).toEqual(plain);
      }
    }
  }
});

test("bytes by chance are refused or read", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      decodeOrRefuse(() => decodeProto(bytes));
    }),
    times(3_000),
  );
});

test("JSON by chance is refused or read", () => {
  const names = fc.constantFrom(
    "resourceSpans",
    "resource",
    "scopeSpans",
    "spans",
    "attributes",
    "key",
    "value",
    "intValue",
    "doubleValue",
    "arrayValue",
    "kvlistValue",
    "values",
    "bytesValue",
    "stringValue",
    "traceId",
    "startTimeUnixNano",
    "status",
    "code",
    "events",
    "links",
    "__proto__",
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: "large", maxDepth: 10 },
      fc.constantFrom(null, true, -1, 1.5, "", "12", "zz", 2 ** 70),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(names, tie("tree"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(tree, (value) => {
      decodeOrRefuse(() => decodeJson(value));
    }),
    times(3_000),
  );
});

test("a valid request with one value of another kind is refused or read", () => {
  const other = fc.constantFrom<unknown>(null, true, 7, -1.5, "text", [], [1], {}, { values: 3 });
  fc.assert(
    fc.property(requests, fc.nat(), other, (request, choice, value) => {
      const json = JSON.parse(JSON.stringify(toJson(request, true))) as object;
      const places: [Record<string, unknown>, string][] = [];
      const walk = (each: unknown) => {
        if (typeof each !== "object" || each === null) return;
        for (const [name, inner] of Object.entries(each)) {
          places.push([each as Record<string, unknown>, name]);
          walk(inner);
        }
      };
      walk(json);
      const [owner, name] = places[choice % places.length] as [Record<string, unknown>, string];
      owner[name] = value;
      decodeOrRefuse(() => decodeJson(json));
    }),
    times(1_000),
  );
});

test("a budget bounds what small bytes can become", () => {
  const span = Buffer.from([0x12, 0x00]);
  const spans = Buffer.concat(Array.from({ length: 1_000 }, () => span));
  const bytes = wrap(0x0a, wrap(0x12, spans));
  expect(decodeProto(bytes, 1_000)).toHaveLength(1_000);
  expect(() => decodeProto(bytes, 999)).toThrow("too many");
});

test("a message nested without end is refused before the stack is", () => {
  let value: Uint8Array = new Uint8Array();
  for (let i = 0; i < 1_000; i++) value = wrap(0x2a, wrap(0x0a, value));
  const attribute = wrap(0x4a, wrap(0x12, value));
  expect(() => decodeProto(wrap(0x0a, wrap(0x12, wrap(0x12, attribute))))).toThrow(
    "nested more than 64 deep",
  );
  let json: unknown = { stringValue: "x" };
  for (let i = 0; i < 1_000; i++) json = { arrayValue: { values: [json] } };
  const spans = [{ attributes: [{ key: "a", value: json }] }];
  expect(() => decodeJson({ resourceSpans: [{ scopeSpans: [{ spans }] }] })).toThrow(
    "nested more than 64 deep",
  );
});
