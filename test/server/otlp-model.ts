/**
 * Export requests by chance, what they mean, and the same request in OTLP's JSON.
 *
 * @module
 */
import fc from "fast-check";
import type { OtlpSpan } from "../../src/protocol/otlp/otlp-span.ts";
import type { SpanResource } from "../../src/protocol/span.ts";

/** One case of AnyValue, as the generated codec writes it. */
export type AnyModel = { value: { case: string | undefined; value?: unknown } };
type Pair = { key: string; value?: AnyModel };
interface SpanModel {
  traceId: Uint8Array;
  spanId: Uint8Array;
  parentSpanId: Uint8Array;
  name: string;
  startTimeUnixNano: bigint;
  endTimeUnixNano: bigint;
  attributes: Pair[];
  events: { timeUnixNano: bigint; name: string; attributes: Pair[] }[];
  links: { traceId: Uint8Array; spanId: Uint8Array; attributes: Pair[] }[];
  status?: { message: string; code: number };
}
/** A request as the generated codec takes it. */
export interface RequestModel {
  resourceSpans: {
    resource?: { attributes: Pair[] };
    schemaUrl: string;
    scopeSpans: { scope?: { name: string }; schemaUrl: string; spans: SpanModel[] }[];
  }[];
}

const key = fc.oneof(
  {
    arbitrary: fc.constantFrom("a", "agent.name", "prompt_token_ids", "__proto__", "constructor", ""),
    weight: 3,
  },
  { arbitrary: fc.string({ unit: "grapheme", maxLength: 8 }), weight: 1 },
);
const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -300n, max: 300_000n }),
  fc.constantFrom(2n ** 53n, 2n ** 53n - 1n, -(2n ** 53n), 2n ** 28n, 2n ** 28n - 1n, -1n),
);
const double = fc.double();

function of(kind: string, value: fc.Arbitrary<unknown>): fc.Arbitrary<AnyModel> {
  return value.map((each) => ({ value: { case: kind, value: each } }));
}

const { any } = fc.letrec<{ any: AnyModel }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    of("stringValue", fc.string({ unit: "grapheme" })),
    of("boolValue", fc.boolean()),
    of("intValue", int64),
    of("doubleValue", double),
    of("bytesValue", fc.uint8Array({ maxLength: 5 })),
    fc.constant<AnyModel>({ value: { case: undefined } }),
    of(
      "arrayValue",
      fc.array(of("intValue", int64)).map((values) => ({ values })),
    ),
    of(
      "arrayValue",
      fc.array(of("doubleValue", double)).map((values) => ({ values })),
    ),
    of(
      "arrayValue",
      fc.array(tie("any"), { maxLength: 4 }).map((values) => ({ values })),
    ),
    of(
      "kvlistValue",
      fc.array(fc.record({ key, value: tie("any") }), { maxLength: 3 }).map((values) => ({ values })),
    ),
  ),
}));

const pairs = fc.array(fc.record({ key, value: any }, { requiredKeys: ["key"] }), { maxLength: 5 });
const time = fc.oneof(
  fc.constantFrom(0n, 1n, 10n ** 12n, 10n ** 12n + 1n, 2n ** 64n - 1n, 1_796_045_477_999_999_999n),
  fc.bigInt({ min: 1_700_000_000_000_000_000n, max: 1_900_000_000_000_000_000n }),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
);
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const idOf = (length: number) =>
  fc.oneof(bytes(length), fc.constant(new Uint8Array()), fc.uint8Array({ maxLength: 3 }));

const span: fc.Arbitrary<SpanModel> = fc.record(
  {
    traceId: idOf(16),
    spanId: idOf(8),
    parentSpanId: idOf(8),
    name: fc.string({ unit: "grapheme" }),
    startTimeUnixNano: time,
    endTimeUnixNano: time,
    attributes: pairs,
    events: fc.array(fc.record({ timeUnixNano: time, name: fc.string(), attributes: pairs }), {
      maxLength: 2,
    }),
    links: fc.array(fc.record({ traceId: idOf(16), spanId: idOf(8), attributes: pairs }), { maxLength: 2 }),
    status: fc.record({ message: fc.string(), code: fc.constantFrom(0, 1, 2, 3, -1) }),
  },
  {
    requiredKeys: [
      "traceId",
      "spanId",
      "parentSpanId",
      "name",
      "startTimeUnixNano",
      "endTimeUnixNano",
      "attributes",
      "events",
      "links",
    ],
  },
);

/** Requests by chance. */
export const requests: fc.Arbitrary<RequestModel> = fc.record({
  resourceSpans: fc.array(
    fc.record(
      {
        resource: fc.record({ attributes: pairs }),
        schemaUrl: fc.constantFrom("", "https://opentelemetry.io/schemas/1.30.0"),
        scopeSpans: fc.array(
          fc.record({ schemaUrl: fc.constant(""), spans: fc.array(span, { maxLength: 3 }) }),
          { maxLength: 2 },
        ),
      },
      { requiredKeys: ["schemaUrl", "scopeSpans"] },
    ),
    { maxLength: 2 },
  ),
});

/** A span and its resource, in the order of the request. */
export type Visited = { span: OtlpSpan; resource: SpanResource };

/** What a request means, said once more and as plainly as can be. */
export function meaningOf(request: RequestModel): Visited[] {
  return request.resourceSpans.flatMap(({ resource, schemaUrl, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((each) => ({
        span: {
          trace_id: hex(each.traceId).padStart(32, "0"),
          span_id: hex(each.spanId).padStart(16, "0"),
          parent_id: each.parentSpanId.length === 0 ? null : hex(each.parentSpanId).padStart(16, "0"),
          name: each.name,
          status: {
            status_code: each.status?.code === 1 ? "OK" : each.status?.code === 2 ? "ERROR" : "UNSET",
            description: each.status?.message || null,
          },
          attributes: attributesOf(each.attributes),
          events: each.events.map((event) => ({
            name: event.name,
            attributes: attributesOf(event.attributes),
            timestamp: seconds(event.timeUnixNano),
          })),
          links: each.links.map((link) => ({
            context: {
              trace_id: hex(link.traceId).padStart(32, "0"),
              span_id: hex(link.spanId).padStart(16, "0"),
              is_remote: false,
              trace_state: {},
            },
            attributes: link.attributes.length === 0 ? null : attributesOf(link.attributes),
          })),
          start_time: seconds(each.startTimeUnixNano),
          end_time: seconds(each.endTimeUnixNano),
        } satisfies OtlpSpan,
        resource: { attributes: attributesOf(resource?.attributes ?? []), schema_url: schemaUrl },
      })),
    ),
  );
}

function hex(value: Uint8Array): string {
  return Buffer.from(value).toString("hex");
}

/** The float nearest to the decimal fraction: what Python's division of whole numbers gives. */
function seconds(nanos: bigint): number | null {
  if (nanos === 0n) return null;
  if (nanos <= 1_000_000_000_000n) return Number(nanos);
  const digits = nanos.toString();
  return Number(`${digits.slice(0, -9)}.${digits.slice(-9)}`);
}

function attributesOf(list: Pair[]): Record<string, never> {
  const byKey = new Map<string, unknown>();
  for (const each of list) {
    const value = flat(plain(each.value));
    if (value !== null) byKey.set(each.key, value);
  }
  return fromEntries(byKey) as Record<string, never>;
}

// `Object.fromEntries` defines keys, so that `__proto__` is one like any other.
function fromEntries(entries: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  return Object.fromEntries(entries);
}

function plain(model: AnyModel | undefined): unknown {
  const { case: kind, value } = model?.value ?? { case: undefined };
  if (kind === undefined) return null;
  if (kind === "intValue") {
    const safe = (value as bigint) <= 2n ** 53n - 1n && (value as bigint) >= -(2n ** 53n) + 1n;
    return safe ? Number(value) : String(value);
  }
  if (kind === "bytesValue") return hex(value as Uint8Array);
  if (kind === "arrayValue") return (value as { values: AnyModel[] }).values.map(plain);
  if (kind === "kvlistValue") {
    return fromEntries((value as { values: Pair[] }).values.map((pair) => [pair.key, plain(pair.value)]));
  }
  return value;
}

function flat(value: unknown): unknown {
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item === "boolean")) return value;
    if (value.every((item) => typeof item === "string")) return value;
    if (value.every((item) => typeof item === "number")) {
      return value.every(Number.isFinite) ? value : value.map(String);
    }
    const numeric = (item: unknown) =>
      typeof item === "number" || (typeof item === "string" && /^-?\d+$/.test(item));
    if (value.every(numeric)) return value.map(String);
  }
  return JSON.stringify(value, (_, each) =>
    typeof each === "number" && !Number.isFinite(each) ? String(each) : each,
  );
}

/** The same request in OTLP's JSON. `intAsText` chooses one of the two ways to write 64-bit numbers. */
export function toJson(request: RequestModel, intAsText: boolean): unknown {
  const int = (value: bigint) =>
    intAsText || value > 2n ** 53n - 1n || value < -(2n ** 53n) + 1n ? String(value) : Number(value);
  const write = (value: unknown, name: string): unknown => {
    if (typeof value === "bigint") return int(value);
    if (value instanceof Uint8Array)
      return name === "bytesValue" ? Buffer.from(value).toString("base64") : hex(value);
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    if (Array.isArray(value)) return value.map((item) => write(item, name));
    if (typeof value !== "object" || value === null) return value;
    if ("case" in value) {
      const any = value as AnyModel["value"];
      return any.case === undefined ? {} : { [any.case]: write(any.value, any.case) };
    }
    if (
      "value" in value &&
      typeof value.value === "object" &&
      value.value !== null &&
      "case" in value.value
    ) {
      return write(value.value, name);
    }
    return Object.fromEntries(Object.entries(value).map(([each, inner]) => [each, write(inner, each)]));
  };
  return write(request, "");
}
