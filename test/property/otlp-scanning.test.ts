import fc from "fast-check";
import { expect, test } from "vitest";
import { AglError } from "../../src/errors.ts";
import { setOwn } from "../../src/protocol/otlp/attribute.ts";
import { decodeTracesProto } from "../../src/protocol/otlp/decode-proto.ts";
import { scanTracesProto, wantedNames } from "../../src/protocol/otlp/scan-proto.ts";
import type { SpanAttributes } from "../../src/protocol/span.ts";
import { varint, wrap } from "../server/otlp-bytes.ts";
import { meaningOf, requests, type Visited } from "../server/otlp-model.ts";
import { oracleDecode, oracleEncode } from "../server/otlp-oracle.ts";
import { times } from "../times.ts";

const REQUEST = "ExportTraceServiceRequest";
const NAMES: readonly string[] = ["a", "agent.name", "__proto__"];
const WANTED = wantedNames(NAMES);

interface Outcome {
  spans: Visited[];
  /** Budget that was left, or the error. */
  left: number | string;
}

function outcome(left: number, read: (budget: { left: number }, spans: Visited[]) => void): Outcome {
  const budget = { left };
  const spans: Visited[] = [];
  try {
    read(budget, spans);
    return { spans, left: budget.left };
  } catch (error) {
    if (!AglError.is(error)) throw error;
    return { spans, left: error.message };
  }
}

function decode(bytes: Uint8Array, left: number): Outcome {
  return outcome(left, (budget, spans) =>
    decodeTracesProto(bytes, budget, (span, resource) => spans.push({ span, resource })),
  );
}

/** Scans, then decodes each span from its own bytes; what the scan itself gave must be what decoding gives. */
function scan(bytes: Uint8Array, left: number): Outcome {
  return outcome(left, (budget, spans) =>
    scanTracesProto(bytes, budget, WANTED, ({ content, attributes, ...head }, resource) => {
      const alone = decode(content(), 1_000_000);
      expect(alone.spans).toHaveLength(1);
      const [visited] = alone.spans as [Visited];
      expect(visited.span).toMatchObject(head);
      expect(attributes).toEqual(chosen(visited.span.attributes));
      expect(resource).toEqual(visited.resource.attributes);
      spans.push(visited);
    }),
  );
}

function chosen(attributes: SpanAttributes): SpanAttributes {
  const result: SpanAttributes = {};
  for (const [key, value] of Object.entries(attributes)) if (NAMES.includes(key)) setOwn(result, key, value);
  return result;
}

test("each span's own bytes mean what the whole request means", () => {
  fc.assert(
    fc.property(requests, (request) => {
      expect(scan(oracleEncode(REQUEST, request), 1_000_000).spans).toEqual(meaningOf(request));
    }),
    times(400),
  );
});

test("each span's own bytes are a request to a generated decoder", () => {
  fc.assert(
    fc.property(requests, (request) => {
      scanTracesProto(oracleEncode(REQUEST, request), { left: 1_000_000 }, WANTED, ({ content, name }) => {
        expect(oracleDecode(REQUEST, content())).toMatchObject({
          resourceSpans: [{ scopeSpans: [{ spans: [{ name }] }] }],
        });
      });
    }),
    times(200),
  );
});

test("broken bytes and small budgets are refused where decoding refuses them, and in the same words", () => {
  const damage = fc.array(fc.record({ at: fc.nat(), byte: fc.nat(255), cut: fc.boolean() }), {
    maxLength: 4,
  });
  const budget = fc.oneof(fc.nat(60), fc.constant(1_000_000));
  let refused = 0;
  let read = 0;
  fc.assert(
    fc.property(requests, damage, budget, (request, changes, left) => {
      let bytes = oracleEncode(REQUEST, request);
      for (const { at, byte, cut } of changes) {
        if (bytes.length === 0) return;
        if (cut && changes.length === 1) bytes = bytes.slice(0, at % bytes.length);
        else bytes[at % bytes.length] = byte;
      }
      const decoded = decode(bytes, left);
      if (typeof decoded.left === "string") refused++;
      else read++;
      expect(scan(bytes, left)).toEqual(decoded);
    }),
    times(1_000),
  );
  expect(refused).toBeGreaterThan(100);
  expect(read).toBeGreaterThan(100);
});

test("bytes by chance are refused or read alike", () => {
  // The tags of the messages on the way to a value, so that chance gets that far.
  const byte = fc.oneof(
    fc.nat(255),
    fc.constantFrom(0x0a, 0x12, 0x18, 0x1a, 0x22, 0x2a, 0x32, 0x4a, 0x5a, 0x6a, 0x7a, 0x80),
    fc.nat(12),
  );
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 200 }), (bytes) => {
      const whole = Uint8Array.from(bytes);
      expect(scan(whole, 1_000_000)).toEqual(decode(whole, 1_000_000));
      // As the inside of a span, where most of the grammar is.
      const inside = wrap(0x0a, wrap(0x12, wrap(0x12, whole)));
      expect(scan(inside, 1_000_000)).toEqual(decode(inside, 1_000_000));
    }),
    times(1_000),
  );
});

test("a list of numbers is passed over or refused as it is read, wherever a number is odd", () => {
  const element = fc.oneof(
    fc.nat(2 ** 31 - 1).map((value) => [0x0a, varint(value).length + 1, 0x18, ...varint(value)]),
    fc.array(fc.oneof(fc.nat(255), fc.constantFrom(0x0a, 0x18, 2, 3)), { maxLength: 8 }),
  );
  fc.assert(
    fc.property(fc.array(element, { maxLength: 12 }), (elements) => {
      const key = Uint8Array.from([0x0a, 1, 0x62]);
      const list = wrap(0x12, wrap(0x2a, Uint8Array.from(elements.flat())));
      const bytes = wrap(0x0a, wrap(0x12, wrap(0x12, wrap(0x4a, Buffer.concat([key, list])))));
      expect(scan(bytes, 1_000)).toEqual(decode(bytes, 1_000));
    }),
    times(1_000),
  );
});
