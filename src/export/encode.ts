/**
 * Finished spans as an OTLP request in protobuf, with nothing in it that the Python store answers 500 to: its span
 * model knows scalars and arrays of one scalar type, and JSON knows no NaN.
 *
 * @module
 */
import type { Attributes, AttributeValue, HrTime } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { type FinishedSpan, shape } from "../trace/finished-span.ts";
import { ProtoWriter } from "./proto-writer.ts";
import { parentSpanIdOf, scopeOf } from "./span-view.ts";

function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? String(inner) : inner));
  } catch {
    return String(value);
  }
}

/** An attribute's value as the store takes it; undefined where there is nothing to store. */
export function storable(value: unknown): AttributeValue | undefined {
  if (isPlain(value)) return value as AttributeValue;
  if (value === null || value === undefined) return undefined;
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    return storable(Array.from(value as unknown as ArrayLike<number>));
  }
  if (Array.isArray(value)) {
    const type = typeof value[0];
    for (const item of value) if (typeof item !== type || !isPlain(item)) return toJson(value);
    return value as AttributeValue;
  }
  return toJson(value);
}

const INT64 = 2 ** 63;

// Field numbers are those of opentelemetry/proto; the fields of each message are written last to first.

/** Writes an `AnyValue`'s one field. */
function writeValue(writer: ProtoWriter, value: AttributeValue): void {
  if (typeof value === "string") writer.string(1, value);
  else if (typeof value === "boolean") writer.uint(2, value ? 1 : 0);
  else if (typeof value === "number") {
    if (Number.isInteger(value) && value >= -INT64 && value < INT64) writer.int(3, value);
    else writer.double(4, value);
  } else {
    const array = writer.length;
    for (let i = value.length - 1; i >= 0; i--) {
      const item = writer.length;
      writeValue(writer, value[i] as AttributeValue);
      writer.close(1, item);
    }
    writer.close(5, array);
  }
}

function writeAttributes(writer: ProtoWriter, field: number, attributes: Attributes | undefined): void {
  if (attributes === undefined) return;
  const names = Object.keys(attributes);
  for (let i = names.length - 1; i >= 0; i--) {
    const name = names[i] as string;
    const value = storable(attributes[name]);
    if (value === undefined) continue;
    const pair = writer.length;
    writeValue(writer, value);
    writer.close(2, pair);
    writer.string(1, name);
    writer.close(field, pair);
  }
}

function writeTime(writer: ProtoWriter, field: number, [seconds, nanoseconds]: HrTime): void {
  writer.fixed64(field, BigInt(Math.trunc(seconds)) * 1_000_000_000n + BigInt(Math.trunc(nanoseconds)));
}

function writeEvent(writer: ProtoWriter, event: ReadableSpan["events"][number]): void {
  const start = writer.length;
  writeAttributes(writer, 3, event.attributes);
  writer.string(2, event.name);
  writeTime(writer, 1, event.time);
  writer.close(11, start);
}

function writeLink(writer: ProtoWriter, link: ReadableSpan["links"][number]): void {
  const start = writer.length;
  const state = link.context.traceState?.serialize();
  writer.fixed32(6, flags(link.context.traceFlags, link.context.isRemote));
  writeAttributes(writer, 4, link.attributes);
  if (state) writer.string(3, state);
  writer.hex(2, link.context.spanId);
  writer.hex(1, link.context.traceId);
  writer.close(13, start);
}

/** The trace's flags, and in two bits more whether the parent is known to be of another process. */
function flags(traceFlags: number, isRemote: boolean | undefined): number {
  return (traceFlags & 0xff) | 0x100 | (isRemote === true ? 0x200 : 0);
}

function writeSpan(writer: ProtoWriter, span: FinishedSpan): void {
  const start = writer.length;
  const { traceId, spanId, traceState, traceFlags } = span.spanContext();
  writer.fixed32(16, flags(traceFlags, span.parentSpanContext?.isRemote));
  const status = writer.length;
  if (span.status.code !== 0) writer.uint(3, span.status.code);
  if (span.status.message) writer.string(2, span.status.message);
  writer.close(15, status);
  if (span.droppedLinksCount > 0) writer.uint(14, span.droppedLinksCount);
  for (let i = span.links.length - 1; i >= 0; i--) {
    writeLink(writer, span.links[i] as ReadableSpan["links"][number]);
  }
  if (span.droppedEventsCount > 0) writer.uint(12, span.droppedEventsCount);
  for (let i = span.events.length - 1; i >= 0; i--) {
    writeEvent(writer, span.events[i] as ReadableSpan["events"][number]);
  }
  if (span.droppedAttributesCount > 0) writer.uint(10, span.droppedAttributesCount);
  writeAttributes(writer, 9, span.attributes);
  writeTime(writer, 8, span.endTime);
  writeTime(writer, 7, span.startTime);
  // The API has no value for "unset", which is 0 here.
  writer.uint(6, span.kind + 1);
  writer.string(5, span.name);
  const parentSpanId = parentSpanIdOf(span);
  if (parentSpanId !== undefined) writer.hex(4, parentSpanId);
  const state = traceState?.serialize();
  if (state) writer.string(3, state);
  writer.hex(2, spanId);
  writer.hex(1, traceId);
  writer.close(2, start);
}

const writer = new ProtoWriter();

/**
 * Encodes spans as one `ExportTraceServiceRequest`, in order. Shapes their late attributes.
 *
 * @throws where a span is broken in a way that cannot be written, for example without times
 */
export function encodeSpans(spans: readonly FinishedSpan[]): Uint8Array {
  for (const span of spans) shape(span);
  writer.reset();
  for (let i = spans.length - 1; i >= 0; ) {
    const { resource } = spans[i] as FinishedSpan;
    const resourceSpans = writer.length;
    if (resource.schemaUrl) writer.string(3, resource.schemaUrl);
    while (i >= 0 && spans[i]?.resource === resource) i = writeScope(spans, i);
    const start = writer.length;
    writeAttributes(writer, 1, resource.attributes);
    writer.close(1, start);
    writer.close(1, resourceSpans);
  }
  return writer.take();
}

/** Writes the spans up to `last` that share its scope and resource; gives the index before the first of them. */
function writeScope(spans: readonly FinishedSpan[], last: number): number {
  const { resource } = spans[last] as FinishedSpan;
  const scope = scopeOf(spans[last] as FinishedSpan);
  const scopeSpans = writer.length;
  let i = last;
  if (scope.schemaUrl) writer.string(3, scope.schemaUrl);
  for (; i >= 0; i--) {
    const span = spans[i] as FinishedSpan;
    if (span.resource !== resource || scopeOf(span) !== scope) break;
    writeSpan(writer, span);
  }
  const start = writer.length;
  if (scope.version) writer.string(2, scope.version);
  writer.string(1, scope.name);
  writer.close(1, start);
  writer.close(2, scopeSpans);
  return i;
}

/** Joins encoded requests into one: in protobuf, the fields of messages set end to end are the fields of one message. */
export function joinRequests(requests: readonly Uint8Array[]): Uint8Array {
  if (requests.length === 1) return requests[0] as Uint8Array;
  let length = 0;
  for (const request of requests) length += request.length;
  const joined = new Uint8Array(length);
  let offset = 0;
  for (const request of requests) {
    joined.set(request, offset);
    offset += request.length;
  }
  return joined;
}
