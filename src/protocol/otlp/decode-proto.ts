/**
 * `ExportTraceServiceRequest` in protobuf, decoded span by span. Fields that the store does not keep are passed over.
 *
 * @module
 */
import type { SpanAttributes, SpanEvent, SpanLink, SpanResource, SpanStatus } from "../span.ts";
import { type RawValue, setAttribute, setOwn } from "./attribute.ts";
import { readName } from "./name.ts";
import { type Budget, type SpanVisitor, secondsOf, spanId, spend, statusCode, traceId } from "./otlp-span.ts";
import {
  type Cursor,
  createCursor,
  enter,
  leave,
  readBool,
  readDouble,
  readEnum,
  readFixed64,
  readHex,
  readInt64,
  readTag,
  readText,
  skip,
} from "./wire.ts";

// Cases below are `field number << 3 | wire type`, so that a known number with another type counts as unknown.

/**
 * Calls `visit` with each span of a request.
 *
 * @throws AglError `invalid_argument` for a payload that is not such a request, `payload_too_large` when it makes
 * more objects than `budget` allows. Spans visited before the error are not to be stored.
 */
export function decodeTracesProto(bytes: Uint8Array, budget: Budget, visit: SpanVisitor): void {
  const cursor = createCursor(bytes);
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x0a) readResourceSpans(cursor, budget, visit);
    else skip(cursor, tag);
  }
}

function readResourceSpans(cursor: Cursor, budget: Budget, visit: SpanVisitor): void {
  const outer = enter(cursor);
  const start = cursor.at;
  const resource: SpanResource = { attributes: {}, schema_url: "" };
  // The resource may come after its spans, hence two passes; the first jumps over the spans.
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x0a) readResource(cursor, budget, resource.attributes);
    else if (tag === 0x1a) resource.schema_url = readText(cursor);
    else skip(cursor, tag);
  }
  cursor.at = start;
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x12) readScopeSpans(cursor, budget, resource, visit);
    else skip(cursor, tag);
  }
  leave(cursor, outer);
}

/** Reads a resource's attributes into `attributes`. */
export function readResource(cursor: Cursor, budget: Budget, attributes: SpanAttributes): void {
  const outer = enter(cursor);
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x0a) readAttribute(cursor, budget, attributes);
    else skip(cursor, tag);
  }
  leave(cursor, outer);
}

function readScopeSpans(cursor: Cursor, budget: Budget, resource: SpanResource, visit: SpanVisitor): void {
  const outer = enter(cursor);
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x12) readSpan(cursor, budget, resource, visit);
    else skip(cursor, tag);
  }
  leave(cursor, outer);
}

function readSpan(cursor: Cursor, budget: Budget, resource: SpanResource, visit: SpanVisitor): void {
  spend(budget);
  const outer = enter(cursor);
  let trace = "";
  let id = "";
  let parent = "";
  let name = "";
  let start: number | null = null;
  let end: number | null = null;
  const attributes: SpanAttributes = {};
  const events: SpanEvent[] = [];
  const links: SpanLink[] = [];
  const status: SpanStatus = { status_code: "UNSET", description: null };
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    switch (tag) {
      case 0x0a:
        trace = readHex(cursor);
        break;
      case 0x12:
        id = readHex(cursor);
        break;
      case 0x22:
        parent = readHex(cursor);
        break;
      case 0x2a:
        name = readText(cursor);
        break;
      case 0x39:
        start = readTime(cursor);
        break;
      case 0x41:
        end = readTime(cursor);
        break;
      case 0x4a:
        readAttribute(cursor, budget, attributes);
        break;
      case 0x5a:
        events.push(readEvent(cursor, budget));
        break;
      case 0x6a:
        links.push(readLink(cursor, budget));
        break;
      case 0x7a:
        readStatus(cursor, status);
        break;
      default:
        skip(cursor, tag);
    }
  }
  leave(cursor, outer);
  visit(
    {
      trace_id: traceId(trace),
      span_id: spanId(id),
      parent_id: parent === "" ? null : spanId(parent),
      name,
      status,
      attributes,
      events,
      links,
      start_time: start,
      end_time: end,
    },
    resource,
  );
}

/** A time, as seconds since the epoch. */
export function readTime(cursor: Cursor): number | null {
  readFixed64(cursor);
  return secondsOf(cursor.high, cursor.low);
}

function readStatus(cursor: Cursor, status: SpanStatus): void {
  const outer = enter(cursor);
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x12) status.description = readText(cursor) || null;
    else if (tag === 0x18) status.status_code = statusCode(readEnum(cursor));
    else skip(cursor, tag);
  }
  leave(cursor, outer);
}

function readEvent(cursor: Cursor, budget: Budget): SpanEvent {
  spend(budget);
  const outer = enter(cursor);
  const event: SpanEvent = { name: "", attributes: {}, timestamp: null };
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x09) event.timestamp = readTime(cursor);
    else if (tag === 0x12) event.name = readText(cursor);
    else if (tag === 0x1a) readAttribute(cursor, budget, event.attributes);
    else skip(cursor, tag);
  }
  leave(cursor, outer);
  return event;
}

function readLink(cursor: Cursor, budget: Budget): SpanLink {
  spend(budget);
  const outer = enter(cursor);
  let trace = "";
  let id = "";
  let attributes: SpanAttributes | null = null;
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x0a) trace = readHex(cursor);
    else if (tag === 0x12) id = readHex(cursor);
    else if (tag === 0x22) {
      attributes ??= {};
      readAttribute(cursor, budget, attributes);
    } else skip(cursor, tag);
  }
  leave(cursor, outer);
  return {
    context: { trace_id: traceId(trace), span_id: spanId(id), is_remote: false, trace_state: {} },
    attributes,
  };
}

/** Reads a key and its value into `attributes`. */
export function readAttribute(cursor: Cursor, budget: Budget, attributes: SpanAttributes): void {
  spend(budget);
  const outer = enter(cursor);
  let key = "";
  let value: RawValue = null;
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x0a) key = readName(cursor);
    else if (tag === 0x12) value = readValue(cursor, budget);
    else skip(cursor, tag);
  }
  leave(cursor, outer);
  setAttribute(attributes, key, value);
}

function readValue(cursor: Cursor, budget: Budget): RawValue {
  const outer = enter(cursor);
  let value: RawValue = null;
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    switch (tag) {
      case 0x0a:
        value = readText(cursor);
        break;
      case 0x10:
        value = readBool(cursor);
        break;
      case 0x18:
        value = readInt64(cursor);
        break;
      case 0x21:
        value = readDouble(cursor);
        break;
      case 0x2a:
        value = readList(cursor, budget);
        break;
      case 0x32:
        value = readMap(cursor, budget);
        break;
      case 0x3a:
        value = readHex(cursor);
        break;
      default:
        skip(cursor, tag);
    }
  }
  leave(cursor, outer);
  return value;
}

function readList(cursor: Cursor, budget: Budget): RawValue[] {
  spend(budget);
  const outer = enter(cursor);
  const values: RawValue[] = [];
  while (cursor.at < cursor.end) {
    if (readSmallInt(cursor, values)) continue;
    const tag = readTag(cursor);
    if (tag === 0x0a) values.push(readValue(cursor, budget));
    else skip(cursor, tag);
  }
  leave(cursor, outer);
  return values;
}

/** Reads an element that is an int of up to 28 bits, which is what every token id is; false for any other. */
function readSmallInt(cursor: Cursor, values: RawValue[]): boolean {
  const { bytes, at } = cursor;
  const length = bytes[at + 1] as number;
  const last = at + 2 + length;
  if (last > cursor.end || length < 2 || length > 5 || bytes[at] !== 0x0a || bytes[at + 2] !== 0x18)
    return false;
  let value = 0;
  let shift = 0;
  for (let i = at + 3; i < last; i++) {
    const byte = bytes[i] as number;
    value |= (byte & 0x7f) << shift;
    shift += 7;
    if (byte < 0x80) {
      if (i + 1 !== last) return false;
      values.push(value);
      cursor.at = last;
      return true;
    }
  }
  return false;
}

function readMap(cursor: Cursor, budget: Budget): { [key: string]: RawValue } {
  spend(budget);
  const outer = enter(cursor);
  const map: { [key: string]: RawValue } = {};
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x0a) {
      spend(budget);
      const inner = enter(cursor);
      let key = "";
      let value: RawValue = null;
      while (cursor.at < cursor.end) {
        const field = readTag(cursor);
        if (field === 0x0a) key = readName(cursor);
        else if (field === 0x12) value = readValue(cursor, budget);
        else skip(cursor, field);
      }
      leave(cursor, inner);
      setOwn(map, key, value);
    } else skip(cursor, tag);
  }
  leave(cursor, outer);
  return map;
}
