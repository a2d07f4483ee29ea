/**
 * Reading protobuf's wire format: varints, lengths and unknown fields, never past the end of a message.
 *
 * @module
 */
import { AglError } from "../../errors.ts";

/** Messages inside messages that are read; each costs a stack frame. */
const MAX_DEPTH = 64;

/** A position in the bytes of a message. Invariant: `at <= end`, and nothing at or past `end` is read. */
export interface Cursor {
  readonly bytes: Buffer;
  /** Bytes of the innermost message that was entered end here. */
  end: number;
  at: number;
  depth: number;
  /** The last varint or fixed64: its low and high 32 bits, both unsigned. */
  low: number;
  high: number;
}

/** A cursor at the start of `bytes`. */
export function createCursor(bytes: Uint8Array): Cursor {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { bytes: buffer, end: buffer.length, at: 0, depth: 0, low: 0, high: 0 };
}

/** The error of a payload that does not follow the format. */
export function malformed(what: string): AglError {
  return new AglError("invalid_argument", `The OTLP payload is malformed: ${what}.`);
}

/** Reads 64 bits into `low` and `high`; bits beyond are dropped, as protobuf does. */
export function readVarint(cursor: Cursor): void {
  const { bytes, end } = cursor;
  let at = cursor.at;
  // Most numbers are lengths and take one byte.
  const first = at < end ? (bytes[at] as number) : 0x80;
  if (first < 0x80) {
    cursor.at = at + 1;
    cursor.low = first;
    cursor.high = 0;
    return;
  }
  let low = 0;
  let high = 0;
  for (let i = 0; i < 10; i++) {
    if (at >= end) throw malformed("a number is cut off");
    const byte = bytes[at++] as number;
    const bits = byte & 0x7f;
    if (i < 4) low |= bits << (7 * i);
    else if (i === 4) {
      low |= bits << 28;
      high = bits >>> 4;
    } else high |= bits << (7 * i - 32);
    if (byte < 0x80) {
      cursor.at = at;
      cursor.low = low >>> 0;
      cursor.high = high >>> 0;
      return;
    }
  }
  throw malformed("a number is longer than 10 bytes");
}

/** Reads the next field's number and wire type as one number, `number << 3 | type`. */
export function readTag(cursor: Cursor): number {
  const byte = cursor.bytes[cursor.at] as number;
  if (byte < 0x80 && byte >= 8) {
    cursor.at++;
    return byte;
  }
  readVarint(cursor);
  if (cursor.high !== 0 || cursor.low < 8) throw malformed("a field has no valid number");
  return cursor.low;
}

/** Reads a length and gives the position where the bytes that follow end. */
export function readEnd(cursor: Cursor): number {
  readVarint(cursor);
  const end = cursor.at + cursor.low;
  if (cursor.high !== 0 || end > cursor.end) throw malformed("a length goes past the end of its message");
  return end;
}

/** Enters the message that follows; gives what {@link leave} needs. */
export function enter(cursor: Cursor): number {
  const outer = cursor.end;
  cursor.end = readEnd(cursor);
  if (++cursor.depth > MAX_DEPTH) throw malformed(`it is nested more than ${MAX_DEPTH} deep`);
  return outer;
}

/** Leaves a message after all of it was read. */
export function leave(cursor: Cursor, outer: number): void {
  cursor.end = outer;
  cursor.depth--;
}

/** An int64: a number where that is exact, else decimal digits. */
export function readInt64(cursor: Cursor): number | string {
  readVarint(cursor);
  const value = (cursor.high | 0) * 4294967296 + cursor.low;
  if (Number.isSafeInteger(value)) return value;
  return BigInt.asIntN(64, (BigInt(cursor.high) << 32n) | BigInt(cursor.low)).toString();
}

/** An enum's number. */
export function readEnum(cursor: Cursor): number {
  readVarint(cursor);
  return cursor.low | 0;
}

/** A bool: any bit set is true. */
export function readBool(cursor: Cursor): boolean {
  readVarint(cursor);
  return cursor.low !== 0 || cursor.high !== 0;
}

/** Reads a fixed64 into `low` and `high`. */
export function readFixed64(cursor: Cursor): void {
  const { at } = cursor;
  if (at + 8 > cursor.end) throw malformed("a number is cut off");
  cursor.low = cursor.bytes.readUInt32LE(at);
  cursor.high = cursor.bytes.readUInt32LE(at + 4);
  cursor.at = at + 8;
}

/** A double. */
export function readDouble(cursor: Cursor): number {
  const { at } = cursor;
  if (at + 8 > cursor.end) throw malformed("a number is cut off");
  cursor.at = at + 8;
  return cursor.bytes.readDoubleLE(at);
}

/** A string. Bytes that are not UTF-8 become U+FFFD: one bad character is no reason to lose a batch. */
export function readText(cursor: Cursor): string {
  const end = readEnd(cursor);
  const start = cursor.at;
  cursor.at = end;
  return cursor.bytes.toString("utf8", start, end);
}

/** Bytes as hex digits. */
export function readHex(cursor: Cursor): string {
  const end = readEnd(cursor);
  const start = cursor.at;
  cursor.at = end;
  return cursor.bytes.toString("hex", start, end);
}

/** Passes over a field that is not wanted. */
export function skip(cursor: Cursor, tag: number): void {
  switch (tag & 7) {
    case 0:
      readVarint(cursor);
      return;
    case 1:
      advance(cursor, 8);
      return;
    case 2:
      cursor.at = readEnd(cursor);
      return;
    case 3:
      skipGroup(cursor, tag >>> 3);
      return;
    case 5:
      advance(cursor, 4);
      return;
    default:
      throw malformed(`a field has the wire type ${tag & 7}`);
  }
}

function advance(cursor: Cursor, bytes: number): void {
  if (cursor.at + bytes > cursor.end) throw malformed("a number is cut off");
  cursor.at += bytes;
}

function skipGroup(cursor: Cursor, field: number): void {
  if (++cursor.depth > MAX_DEPTH) throw malformed(`it is nested more than ${MAX_DEPTH} deep`);
  while (cursor.at < cursor.end) {
    const tag = readTag(cursor);
    if ((tag & 7) !== 4) {
      skip(cursor, tag);
      continue;
    }
    if (tag >>> 3 !== field) throw malformed("a group ends that was not begun");
    cursor.depth--;
    return;
  }
  throw malformed("a group has no end");
}
