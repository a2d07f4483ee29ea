/**
 * Protobuf written by hand.
 *
 * @module
 */

/** `value`, of up to 32 bits, as a varint. */
export function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

/** A field whose payload has a length: its tag, the length, `inner`. */
export function wrap(tag: number, inner: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.from([tag, ...varint(inner.length)]), inner]);
}
