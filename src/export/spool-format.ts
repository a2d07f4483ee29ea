/**
 * The bytes of a spool segment: a magic word, then records. A record is `length, crc32` (each 4 bytes, little-endian)
 * and `length` bytes of payload: rollout id and attempt id (2 bytes of length each, then UTF-8), then one encoded
 * OTLP request. A segment whose writer was killed ends in a torn record, which readers leave out.
 *
 * @module
 */

/** One encoded span with its place. */
export interface SpoolRecord {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly body: Uint8Array;
}

/** First bytes of every segment; the digit is the version of the format. */
export const SEGMENT_MAGIC: Uint8Array = new TextEncoder().encode("AGLSPL1\n");

const HEADER = 8;
const MAX_ID_BYTES = 0xffff;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function crc32(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (let i = 0; i < bytes.length; i++)
    c = (CRC_TABLE[(c ^ (bytes[i] as number)) & 0xff] as number) ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

/** Whether a record can be written: ids of more than 65 535 bytes cannot. */
export function isWritable(record: SpoolRecord): boolean {
  return record.rolloutId.length * 3 <= MAX_ID_BYTES && record.attemptId.length * 3 <= MAX_ID_BYTES;
}

/** A record's bytes. */
export function encodeRecord(record: SpoolRecord): Uint8Array {
  const rolloutId = encoder.encode(record.rolloutId);
  const attemptId = encoder.encode(record.attemptId);
  const length = 4 + rolloutId.length + attemptId.length + record.body.length;
  const bytes = new Uint8Array(HEADER + length);
  const view = new DataView(bytes.buffer);
  let offset = HEADER;
  for (const id of [rolloutId, attemptId]) {
    view.setUint16(offset, id.length, true);
    bytes.set(id, offset + 2);
    offset += 2 + id.length;
  }
  bytes.set(record.body, offset);
  view.setUint32(0, length, true);
  view.setUint32(4, crc32(bytes.subarray(HEADER)), true);
  return bytes;
}

function decodePayload(payload: Uint8Array): SpoolRecord | undefined {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const ids: string[] = [];
  let offset = 0;
  for (let i = 0; i < 2; i++) {
    if (offset + 2 > payload.length) return undefined;
    const end = offset + 2 + view.getUint16(offset, true);
    if (end > payload.length) return undefined;
    ids.push(decoder.decode(payload.subarray(offset + 2, end)));
    offset = end;
  }
  return { rolloutId: ids[0] as string, attemptId: ids[1] as string, body: payload.subarray(offset) };
}

/**
 * The records of a segment, in order; bodies are views of `segment`. Ends where a record is torn; a record that is
 * whole by its length but fails its checksum is left out. Without `verify` checksums are not looked at.
 */
export function* decodeSegment(segment: Uint8Array, verify = true): Generator<SpoolRecord> {
  if (SEGMENT_MAGIC.some((byte, i) => segment[i] !== byte)) return;
  const view = new DataView(segment.buffer, segment.byteOffset, segment.byteLength);
  let offset = SEGMENT_MAGIC.length;
  while (offset + HEADER <= segment.length) {
    const end = offset + HEADER + view.getUint32(offset, true);
    if (end > segment.length) return;
    const payload = segment.subarray(offset + HEADER, end);
    if (!verify || crc32(payload) === view.getUint32(offset + 4, true)) {
      const record = decodePayload(payload);
      if (record !== undefined) yield record;
    }
    offset = end;
  }
}
