/**
 * `ExportTraceServiceRequest` in OTLP's JSON: lower camel case, ids in hex, 64-bit numbers as text or number.
 *
 * @module
 */
import type { SpanAttributes, SpanEvent, SpanLink, SpanResource } from "../span.ts";
import { type RawValue, setAttribute, setOwn } from "./attribute.ts";
import { type Budget, type SpanVisitor, secondsOf, spanId, spend, statusCode, traceId } from "./otlp-span.ts";
import { malformed } from "./wire.ts";

/** Lists inside lists that are read; the same bound as for protobuf. */
const MAX_DEPTH = 64;

type Fields = Record<string, unknown>;

/**
 * Calls `visit` with each span of a request. `null` stands for a field that is absent, unknown fields are passed over.
 *
 * @throws AglError `invalid_argument` where a known field has a value of another kind, `payload_too_large` when the
 * request makes more objects than `budget` allows. Spans visited before the error are not to be stored.
 */
export function decodeTracesJson(request: unknown, budget: Budget, visit: SpanVisitor): void {
  for (const resourceSpans of messages(message(request, "the request"), "resourceSpans")) {
    const resource: SpanResource = {
      attributes: attributesOf(message(resourceSpans["resource"] ?? {}, "resource"), budget),
      schema_url: text(resourceSpans, "schemaUrl"),
    };
    for (const scopeSpans of messages(resourceSpans, "scopeSpans")) {
      for (const span of messages(scopeSpans, "spans")) visitSpan(span, resource, budget, visit);
    }
  }
}

function visitSpan(span: Fields, resource: SpanResource, budget: Budget, visit: SpanVisitor): void {
  spend(budget);
  const parent = hex(span, "parentSpanId");
  const status = message(span["status"] ?? {}, "status");
  visit(
    {
      trace_id: traceId(hex(span, "traceId")),
      span_id: spanId(hex(span, "spanId")),
      parent_id: parent === "" ? null : spanId(parent),
      name: text(span, "name"),
      status: { status_code: statusOf(status["code"]), description: text(status, "message") || null },
      attributes: attributesOf(span, budget),
      events: messages(span, "events").map((event) => eventOf(event, budget)),
      links: messages(span, "links").map((link) => linkOf(link, budget)),
      start_time: time(span, "startTimeUnixNano"),
      end_time: time(span, "endTimeUnixNano"),
    },
    resource,
  );
}

function eventOf(event: Fields, budget: Budget): SpanEvent {
  spend(budget);
  return {
    name: text(event, "name"),
    attributes: attributesOf(event, budget),
    timestamp: time(event, "timeUnixNano"),
  };
}

function linkOf(link: Fields, budget: Budget): SpanLink {
  spend(budget);
  const attributes = messages(link, "attributes").length > 0 ? attributesOf(link, budget) : null;
  const trace_id = traceId(hex(link, "traceId"));
  return {
    context: { trace_id, span_id: spanId(hex(link, "spanId")), is_remote: false, trace_state: {} },
    attributes,
  };
}

function attributesOf(owner: Fields, budget: Budget): SpanAttributes {
  const attributes: SpanAttributes = {};
  for (const pair of messages(owner, "attributes")) {
    spend(budget);
    setAttribute(attributes, text(pair, "key"), anyValue(pair["value"], budget, 0));
  }
  return attributes;
}

/** One AnyValue: an object with the one key that says its kind. */
function anyValue(value: unknown, budget: Budget, depth: number): RawValue {
  if (value === undefined || value === null) return null;
  if (depth > MAX_DEPTH) throw malformed(`it is nested more than ${MAX_DEPTH} deep`);
  const any = message(value, "value");
  if (isSet(any["stringValue"])) return text(any, "stringValue");
  if (isSet(any["boolValue"])) return bool(any["boolValue"]);
  if (isSet(any["intValue"])) return int64(any["intValue"]);
  if (isSet(any["doubleValue"])) return double(any["doubleValue"]);
  if (isSet(any["bytesValue"])) return Buffer.from(text(any, "bytesValue"), "base64").toString("hex");
  if (isSet(any["arrayValue"])) {
    spend(budget);
    const values = messages(message(any["arrayValue"], "arrayValue"), "values");
    return values.map((item) => anyValue(item, budget, depth + 1));
  }
  if (!isSet(any["kvlistValue"])) return null;
  spend(budget);
  const map: { [key: string]: RawValue } = {};
  for (const pair of messages(message(any["kvlistValue"], "kvlistValue"), "values")) {
    spend(budget);
    setOwn(map, text(pair, "key"), anyValue(pair["value"], budget, depth + 1));
  }
  return map;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function message(value: unknown, what: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw malformed(`${what} is not an object`);
  }
  return value as Fields;
}

function messages(owner: Fields, key: string): Fields[] {
  const value = owner[key];
  if (!isSet(value)) return [];
  if (!Array.isArray(value)) throw malformed(`${key} is not a list`);
  for (const item of value) message(item, `an item of ${key}`);
  return value as Fields[];
}

function text(owner: Fields, key: string): string {
  const value = owner[key] ?? "";
  if (typeof value !== "string") throw malformed(`${key} is not a string`);
  return value;
}

function hex(owner: Fields, key: string): string {
  const value = text(owner, key);
  if (!/^(?:[0-9a-f]{2})*$/i.test(value)) throw malformed(`${key} is not hex`);
  return value.toLowerCase();
}

function bool(value: unknown): boolean {
  if (typeof value !== "boolean") throw malformed("boolValue is not a boolean");
  return value;
}

function int64(value: unknown): number | string {
  if (typeof value === "number" && Number.isInteger(value)) return value;
  if (typeof value !== "string" || !/^-?\d{1,20}$/.test(value))
    throw malformed("intValue is not a whole number");
  const exact = BigInt(value);
  if (BigInt.asIntN(64, exact) !== exact) throw malformed("intValue does not fit into 64 bits");
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : exact.toString();
}

function double(value: unknown): number {
  if (typeof value === "number") return value;
  if (value === "NaN" || value === "Infinity" || value === "-Infinity") return Number(value);
  if (typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)))
    return Number(value);
  throw malformed("doubleValue is not a number");
}

function statusOf(code: unknown): "UNSET" | "OK" | "ERROR" {
  if (!isSet(code)) return "UNSET";
  if (typeof code === "number") return statusCode(code);
  if (typeof code === "string") return statusCode(STATUS_NAMES[code] ?? Number(code));
  throw malformed("code is not a number");
}

/** Protobuf's own JSON writes an enum's name; OTLP asks for the number. */
const STATUS_NAMES: Readonly<Record<string, number>> = {
  STATUS_CODE_UNSET: 0,
  STATUS_CODE_OK: 1,
  STATUS_CODE_ERROR: 2,
};

function time(owner: Fields, key: string): number | null {
  const value = owner[key] ?? 0;
  const valid =
    typeof value === "number"
      ? Number.isInteger(value) && value >= 0 && value < 2 ** 64
      : typeof value === "string" && /^\d{1,20}$/.test(value);
  if (!valid) throw malformed(`${key} is not a time in nanoseconds`);
  const nanos = BigInt(value as number | string);
  return secondsOf(Number((nanos >> 32n) & 0xffff_ffffn), Number(nanos & 0xffff_ffffn));
}
