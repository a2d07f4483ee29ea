/**
 * Finished spans as an OTLP request in protobuf, with nothing in it that the Python store answers 500 to: its span
 * model knows scalars and arrays of one scalar type, and JSON knows no NaN.
 *
 * @module
 */
import type { Attributes, AttributeValue } from "@opentelemetry/api";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { type FinishedSpan, shape } from "../trace/finished-span.ts";
import { viewSpan } from "./span-view.ts";

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

/** A copy of `attributes` that the store takes, or the same object where nothing had to change. */
export function storableAttributes(attributes: Attributes): Attributes {
  let copy: Attributes | undefined;
  for (const name in attributes) {
    const value = attributes[name];
    const stored = storable(value);
    if (stored === value && stored !== undefined) continue;
    copy ??= { ...attributes };
    if (stored === undefined) delete copy[name];
    else copy[name] = stored;
  }
  return copy ?? attributes;
}

// The serializer groups spans by the identity of their resource.
const resources = new WeakMap<ReadableSpan["resource"], ReadableSpan["resource"]>();

function storableResource(resource: ReadableSpan["resource"]): ReadableSpan["resource"] {
  let stored = resources.get(resource);
  if (stored === undefined) {
    const attributes = storableAttributes(resource.attributes ?? {});
    stored =
      attributes === resource.attributes
        ? resource
        : Object.create(resource, { attributes: { value: attributes } });
    resources.set(resource, stored as ReadableSpan["resource"]);
  }
  return stored as ReadableSpan["resource"];
}

function storableSpan(span: FinishedSpan): ReadableSpan {
  shape(span);
  return {
    ...viewSpan(span, storableAttributes(span.attributes)),
    resource: storableResource(span.resource),
    events: span.events.map((event) =>
      event.attributes === undefined ? event : { ...event, attributes: storableAttributes(event.attributes) },
    ),
    links: span.links.map((link) =>
      link.attributes === undefined ? link : { ...link, attributes: storableAttributes(link.attributes) },
    ),
  };
}

/**
 * Encodes spans as one `ExportTraceServiceRequest`. Shapes their late attributes.
 *
 * @throws where a span is broken in a way that cannot be written, for example without times
 */
export function encodeSpans(spans: readonly FinishedSpan[]): Uint8Array {
  const encoded = ProtobufTraceSerializer.serializeRequest(spans.map(storableSpan));
  if (encoded === undefined) throw new TypeError("the spans could not be encoded");
  return encoded;
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
