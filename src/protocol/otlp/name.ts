/**
 * Names of attributes, which come again with every span: each is decoded once and then found by its bytes.
 *
 * @module
 */
import { type Cursor, readEnd } from "./wire.ts";

/** Longer names are decoded each time. */
const MAX_BYTES = 64;
/** A power of two. A name takes the place of the one that was in its slot, so the memory has a bound. */
const SLOTS = 2048;

interface Known {
  readonly bytes: Uint8Array;
  readonly text: string;
}

const known: (Known | undefined)[] = new Array<Known | undefined>(SLOTS).fill(undefined);

/** A string that is likely to have been read before. Bytes that are not UTF-8 become U+FFFD. */
export function readName(cursor: Cursor): string {
  const end = readEnd(cursor);
  const { bytes, at } = cursor;
  cursor.at = end;
  const length = end - at;
  if (length > MAX_BYTES) return bytes.toString("utf8", at, end);
  let hash = length;
  for (let i = at; i < end; i++) hash = Math.imul(hash, 31) + (bytes[i] as number);
  const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
  const entry = known[slot];
  if (entry !== undefined && isAt(entry.bytes, bytes, at, length)) return entry.text;
  const text = bytes.toString("utf8", at, end);
  known[slot] = { bytes: Uint8Array.from(bytes.subarray(at, end)), text };
  return text;
}

/** Whether `name` is what stands at `at` in `bytes`, `length` bytes long. */
export function isAt(name: Uint8Array, bytes: Uint8Array, at: number, length: number): boolean {
  if (name.length !== length) return false;
  for (let i = 0; i < length; i++) if (name[i] !== bytes[at + i]) return false;
  return true;
}
