import fc from "fast-check";
import { expect, it } from "vitest";
import {
  decodeSegment,
  encodeRecord,
  SEGMENT_MAGIC,
  type SpoolRecord,
} from "../../src/export/spool-format.ts";
import { times } from "../times.ts";

const record: fc.Arbitrary<SpoolRecord> = fc.record({
  rolloutId: fc.string({ unit: "grapheme", maxLength: 20 }),
  attemptId: fc.string({ unit: "grapheme", maxLength: 20 }),
  body: fc.uint8Array({ maxLength: 200 }),
});

function segment(records: readonly SpoolRecord[]): { bytes: Uint8Array; ends: number[] } {
  const ends: number[] = [];
  const parts: Uint8Array[] = [SEGMENT_MAGIC];
  let length = SEGMENT_MAGIC.length;
  for (const one of records) {
    const encoded = encodeRecord(one);
    parts.push(encoded);
    length += encoded.length;
    ends.push(length);
  }
  return { bytes: new Uint8Array(Buffer.concat(parts)), ends };
}

const plain = (records: Iterable<SpoolRecord>) =>
  [...records].map(({ rolloutId, attemptId, body }) => ({ rolloutId, attemptId, body: [...body] }));

it("gives back what was written", () => {
  fc.assert(
    fc.property(fc.array(record), (records) => {
      const { bytes } = segment(records);
      expect(plain(decodeSegment(bytes))).toEqual(plain(records));
      expect(plain(decodeSegment(bytes, false))).toEqual(plain(records));
    }),
    times(100),
  );
});

it("gives back every whole record of a segment that is cut off anywhere", () => {
  fc.assert(
    fc.property(fc.array(record, { minLength: 1 }), fc.nat(), (records, at) => {
      const { bytes, ends } = segment(records);
      const cut = at % (bytes.length + 1);
      const whole = ends.filter((end) => end <= cut).length;
      expect(plain(decodeSegment(bytes.subarray(0, cut)))).toEqual(plain(records.slice(0, whole)));
    }),
    times(100),
  );
});

it("never gives a record that was not written, whatever byte is damaged", () => {
  fc.assert(
    fc.property(
      fc.array(record, { minLength: 1 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (records, at, flip) => {
        const { bytes } = segment(records);
        const index = at % bytes.length;
        bytes[index] = (bytes[index] as number) ^ flip;
        const written = plain(records).map((one) => JSON.stringify(one));
        const read = plain(decodeSegment(bytes)).map((one) => JSON.stringify(one));
        for (const one of read) expect(written).toContain(one);
      },
    ),
    times(100),
  );
});

it("never throws on other bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, withMagic) => {
      const all = withMagic ? new Uint8Array([...SEGMENT_MAGIC, ...bytes]) : bytes;
      expect(Array.isArray([...decodeSegment(all)])).toBe(true);
    }),
    times(100),
  );
});
