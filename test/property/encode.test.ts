import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeSpans } from "../../src/export/encode.ts";
import { decodeTracesProto } from "../../src/protocol/otlp/decode-proto.ts";
import type { OtlpSpan } from "../../src/protocol/otlp/otlp-span.ts";
import type { FinishedSpan } from "../../src/trace/finished-span.ts";
import { times } from "../times.ts";

const text = fc.oneof(
  fc.string({ maxLength: 60, unit: "binary" }),
  fc.string({ maxLength: 60, unit: "binary-ascii" }),
  fc.integer({ min: 0, max: 5_000 }).map((length) => "x".repeat(length)),
);
const number = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(2 ** 62, -(2 ** 63), 2 ** 63, 2 ** 53, -(2 ** 53), 127, 128, 16_383, 16_384, -1),
);
const value = fc.oneof(
  text,
  number,
  fc.boolean(),
  fc.array(number, { maxLength: 40 }),
  fc.array(text, { maxLength: 4 }),
);
const attributes = fc.dictionary(text, value, { maxKeys: 12 });
const digits = (length: number) =>
  fc.string({ minLength: length, maxLength: length, unit: fc.constantFrom(..."0123456789abcdef") });
const time = fc.tuple(fc.integer({ min: 0, max: 4_000_000_000 }), fc.integer({ min: 0, max: 999_999_999 }));
const context = fc.record({ traceId: digits(32), spanId: digits(16), traceFlags: fc.constantFrom(0, 1) });
const resource = fc
  .record({ schemaUrl: fc.constantFrom(undefined, "https://schema"), attributes })
  .map(({ schemaUrl, attributes: own }) =>
    resourceFromAttributes(own, schemaUrl === undefined ? {} : { schemaUrl }),
  );
const scope = fc.record({
  name: text,
  version: fc.constantFrom("", "1.2"),
  schemaUrl: fc.constantFrom("", "https://s"),
});

const span = fc
  .record({
    name: text,
    kind: fc.constantFrom(0, 1, 2, 3, 4),
    context,
    parent: fc.option(context, { nil: undefined }),
    startTime: time,
    endTime: time,
    attributes,
    status: fc.record({ code: fc.constantFrom(0, 1, 2), message: fc.constantFrom("", "it failed") }),
    events: fc.array(fc.record({ name: text, time, attributes }), { maxLength: 3 }),
    links: fc.array(fc.record({ context, attributes }), { maxLength: 3 }),
    droppedAttributesCount: fc.nat(300),
  })
  .map(({ context: own, parent, ...rest }) => ({
    ...rest,
    spanContext: () => own,
    ...(parent === undefined ? {} : { parentSpanContext: parent }),
    duration: [0, 0],
    ended: true,
    droppedEventsCount: 0,
    droppedLinksCount: 1,
  }));

/** Spans that share resources and scopes in runs, which is the order in which OpenTelemetry's encoder leaves them. */
const request = fc
  .array(
    fc.record({
      resource,
      scopes: fc.array(fc.record({ scope, spans: fc.array(span, { minLength: 1, maxLength: 3 }) }), {
        minLength: 1,
        maxLength: 2,
      }),
    }),
    { maxLength: 3 },
  )
  .map((resources) =>
    resources.flatMap((of) =>
      of.scopes.flatMap((own) =>
        own.spans.map((made) => ({ ...made, resource: of.resource, instrumentationScope: own.scope })),
      ),
    ),
  );

function decode(bytes: Uint8Array): OtlpSpan[] {
  const spans: OtlpSpan[] = [];
  decodeTracesProto(bytes, { left: 1e9 } as never, (each) => spans.push(each));
  return spans;
}

it("writes what OpenTelemetry's own encoder writes", () => {
  fc.assert(
    fc.property(request, (spans) => {
      const theirs = ProtobufTraceSerializer.serializeRequest(spans as never) as Uint8Array;
      const ours = encodeSpans(spans as unknown as FinishedSpan[]);
      expect(decode(ours)).toEqual(decode(theirs));
    }),
    times(100),
  );
});
