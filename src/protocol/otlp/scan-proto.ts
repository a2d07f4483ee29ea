/**
 * `ExportTraceServiceRequest` in protobuf, checked whole but decoded only as far as a store needs to place a span and
 * to find it again. The rest stays in the bytes in which it came.
 *
 * @module
 */
import type { SpanAttributes } from "../span.ts";
import { readAttribute, readResource, readTime } from "./decode-proto.ts";
import { isAt, readName } from "./name.ts";
import { type Budget, type OtlpSpan, spanId, spend, traceId } from "./otlp-span.ts";
import { type Cursor, createCursor, enter, leave, readEnd, readHex, readTag, skip } from "./wire.ts";

/** What is known of a span that was not decoded. */
export interface ScannedSpan extends Omit<OtlpSpan, "status" | "events" | "links"> {
  /** Those of its attributes that were asked for. */
  attributes: SpanAttributes;
  /**
   * Makes a request of its own that holds this span with its resource, as they came; for `decodeTracesProto`. Not made
   * before it is asked for: a large resource of many spans would fill the memory. The bytes are good until any
   * span's content is made the next time.
   */
  content: () => Uint8Array;
}

/** Names of attributes that are asked for, by their length. */
export type Wanted = readonly (readonly Uint8Array[] | undefined)[];

/** The form in which `scanTracesProto` takes names; they must be ASCII. */
export function wantedNames(names: readonly string[]): Wanted {
  const longest = Math.max(0, ...names.map((name) => name.length));
  return Array.from({ length: longest + 1 }, (_, length) => {
    const fitting = names.filter((name) => name.length === length);
    return fitting.length === 0 ? undefined : fitting.map((name) => Buffer.from(name, "latin1"));
  });
}

/** Takes each span as soon as it is scanned, and all attributes of its resource. */
export type ScanVisitor = (span: ScannedSpan, resource: SpanAttributes) => void;

/** A message: what it takes out of the budget, and the messages in it by tag. Nothing else in it can be malformed. */
interface Shape {
  readonly cost: 0 | 1;
  readonly inner: (Shape | undefined)[];
}

const VALUE: Shape = { cost: 0, inner: [] };
const PAIR: Shape = { cost: 1, inner: byTag({ 18: VALUE }) };
const LIST: Shape = { cost: 1, inner: byTag({ 10: VALUE }) };
const MAP: Shape = { cost: 1, inner: byTag({ 10: PAIR }) };
VALUE.inner.push(...byTag({ 42: LIST, 50: MAP }));
const EVENT: Shape = { cost: 1, inner: byTag({ 26: PAIR }) };
const LINK: Shape = { cost: 1, inner: byTag({ 34: PAIR }) };
const STATUS: Shape = { cost: 0, inner: byTag({}) };

/** A list as long for every shape, so that the one loop over them all stays fast. */
function byTag(inner: Readonly<Record<number, Shape>>): (Shape | undefined)[] {
  return Array.from({ length: 0x80 }, (_, tag) => inner[tag]);
}

/**
 * Calls `visit` with each span of a request, as `decodeTracesProto` would, with the attributes named in `wanted`.
 *
 * @throws AglError where `decodeTracesProto` throws, and the same. Spans visited before the error are not to be stored.
 */
export function scanTracesProto(bytes: Uint8Array, budget: Budget, wanted: Wanted, visit: ScanVisitor): void {
  const cursor = createCursor(bytes);
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x0a) scanResourceSpans(cursor, budget, wanted, visit);
    else skip(cursor, tag);
  }
}

function scanResourceSpans(cursor: Cursor, budget: Budget, wanted: Wanted, visit: ScanVisitor): void {
  const outer = enter(cursor);
  const start = cursor.at;
  const attributes: SpanAttributes = {};
  const head: Uint8Array[] = [];
  // The resource may come after its spans, hence two passes; the first jumps over the spans.
  while (cursor.at < cursor.end) {
    const { at } = cursor;
    const tag = readTag(cursor);
    if (tag === 0x0a) readResource(cursor, budget, attributes);
    else skip(cursor, tag);
    if (tag === 0x0a || tag === 0x1a) head.push(cursor.bytes.subarray(at, cursor.at));
  }
  const resource = Buffer.concat(head);
  cursor.at = start;
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag !== 0x12) {
      skip(cursor, tag);
      continue;
    }
    const outerScope = enter(cursor);
    while (cursor.at < cursor.end) {
      const field = readTag(cursor);
      if (field === 0x12) visit(scanSpan(cursor, budget, wanted, resource), attributes);
      else skip(cursor, field);
    }
    leave(cursor, outerScope);
  }
  leave(cursor, outer);
}

function scanSpan(cursor: Cursor, budget: Budget, wanted: Wanted, resource: Uint8Array): ScannedSpan {
  spend(budget);
  const outer = enter(cursor);
  const start = cursor.at;
  const attributes: SpanAttributes = {};
  let trace = "";
  let id = "";
  let parent = "";
  let name = "";
  let start_time: number | null = null;
  let end_time: number | null = null;
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
        name = readName(cursor);
        break;
      case 0x39:
        start_time = readTime(cursor);
        break;
      case 0x41:
        end_time = readTime(cursor);
        break;
      case 0x4a:
        scanAttribute(cursor, budget, wanted, attributes);
        break;
      case 0x5a:
        walk(cursor, budget, EVENT);
        break;
      case 0x6a:
        walk(cursor, budget, LINK);
        break;
      case 0x7a:
        walk(cursor, budget, STATUS);
        break;
      default:
        skip(cursor, tag);
    }
  }
  const { bytes } = cursor;
  const end = cursor.at;
  leave(cursor, outer);
  return {
    trace_id: traceId(trace),
    span_id: spanId(id),
    parent_id: parent === "" ? null : spanId(parent),
    name,
    start_time,
    end_time,
    attributes,
    content: () => alone(bytes, start, end, resource),
  };
}

/** Passes over an attribute, or reads it when it is wanted. */
function scanAttribute(cursor: Cursor, budget: Budget, wanted: Wanted, attributes: SpanAttributes): void {
  const { at } = cursor;
  spend(budget);
  const outer = enter(cursor);
  let isWanted = false;
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if (tag === 0x0a) isWanted = isOneOf(cursor, wanted);
    else if (tag === 0x12) walk(cursor, budget, VALUE);
    else skip(cursor, tag);
  }
  leave(cursor, outer);
  if (!isWanted) return;
  cursor.at = at;
  // It was paid for above.
  readAttribute(cursor, { left: Number.POSITIVE_INFINITY }, attributes);
}

/** Whether the name that follows is wanted. Most are not, and their length tells. */
function isOneOf(cursor: Cursor, wanted: Wanted): boolean {
  const end = readEnd(cursor);
  const { bytes, at } = cursor;
  const length = end - at;
  cursor.at = end;
  const names = length < wanted.length ? wanted[length] : undefined;
  if (names === undefined) return false;
  for (const name of names) if (isAt(name, bytes, at, length)) return true;
  return false;
}

/** Passes over a message, and refuses what reading it would refuse. */
function walk(cursor: Cursor, budget: Budget, shape: Shape): void {
  if (shape.cost === 1) spend(budget);
  const outer = enter(cursor);
  if (shape === LIST) skipSmallInts(cursor);
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    const inner = tag < 0x80 ? shape.inner[tag] : undefined;
    if (inner === undefined) skip(cursor, tag);
    else walk(cursor, budget, inner);
  }
  leave(cursor, outer);
}

/** Passes over the elements of a list for as long as they are ints of up to 28 bits, as token ids are. */
function skipSmallInts(cursor: Cursor): void {
  const { bytes, end } = cursor;
  for (let at = cursor.at; at + 4 <= end; cursor.at = at) {
    const length = bytes[at + 1] as number;
    const last = at + 1 + length;
    if (bytes[at] !== 0x0a || bytes[at + 2] !== 0x18 || length < 2 || length > 5 || last >= end) return;
    // The number must end where its message does, and not before.
    for (at += 3; at < last; at++) if ((bytes[at] as number) < 0x80) return;
    if ((bytes[at++] as number) >= 0x80) return;
  }
}

const SCRATCH_BYTES = 256 * 1024;
let scratch: Buffer | undefined;

/**
 * A request that holds the fields of a resource, and the one span that goes from `start` to `end` of another. In the
 * same memory each time, unless it is large: to allocate it costs more than to scan the span.
 */
function alone(whence: Buffer, start: number, end: number, resource: Uint8Array): Uint8Array {
  const length = end - start;
  const scope = 1 + varintSize(length) + length;
  const whole = resource.length + 1 + varintSize(scope) + scope;
  const size = 1 + varintSize(whole) + whole;
  scratch ??= Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  const bytes = size <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafeSlow(size);
  let at = writeHead(bytes, 0, 0x0a, whole);
  bytes.set(resource, at);
  at = writeHead(bytes, at + resource.length, 0x12, scope);
  at = writeHead(bytes, at, 0x12, length);
  whence.copy(bytes, at, start, end);
  return bytes.subarray(0, size);
}

function writeHead(bytes: Uint8Array, start: number, tag: number, length: number): number {
  let at = start;
  bytes[at++] = tag;
  let rest = length;
  for (; rest >= 0x80; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
  bytes[at++] = rest;
  return at;
}

function varintSize(value: number): number {
  return value < 0x80 ? 1 : 1 + varintSize(value >>> 7);
}
