import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createStreamingDecoder,
  decode,
  END_ID,
  encode,
  markId,
  VOCABULARY_SIZE,
} from "../../src/testing/toy-tokenizer.ts";
import { times } from "../times.ts";

const text = fc.string({ unit: "binary" });

describe("the toy tokenizer", () => {
  it("pairs bytes and opens a new piece at a space", () => {
    expect(encode("ab cde")).toEqual([256 + 97 * 256 + 98, 256 + 32 * 256 + 99, 256 + 100 * 256 + 101]);
    expect(encode("abc d")).toEqual([256 + 97 * 256 + 98, 99, 256 + 32 * 256 + 100]);
    expect(encode("")).toEqual([]);
  });

  it("gives every well-formed text back", () => {
    fc.assert(
      fc.property(text, (value) => decode(encode(value)) === value),
      times(100),
    );
  });

  it("stays within its vocabulary, and never makes a mark from text", () => {
    fc.assert(
      fc.property(text, (value) => encode(value).every((id) => id >= 0 && id < END_ID)),
      times(100),
    );
    expect(encode("<|end|>")).not.toContain(END_ID);
  });

  it("gives the same text when ids come in any portions", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 5 }), (value, size) => {
        const decoder = createStreamingDecoder();
        const ids = encode(value);
        let out = "";
        for (let at = 0; at < ids.length; at += size) out += decoder.push(ids.slice(at, at + size));
        return out + decoder.end() === value;
      }),
      times(100),
    );
  });

  it("leaves marks out unless they are asked for", () => {
    const ids = [markId("<|user|>"), ...encode("hi"), END_ID];
    expect(decode(ids)).toBe("hi");
    expect(decode(ids, { marks: true })).toBe("<|user|>hi<|end|>");
  });

  it("refuses an id that is none", () => {
    for (const id of [-1, 1.5, VOCABULARY_SIZE, Number.NaN]) expect(() => decode([id])).toThrow(RangeError);
  });
});
