import fc from "fast-check";
import { expect, test } from "vitest";
import { createEventReader } from "../../../src/capture/ai-sdk/sse.ts";
import { times } from "../../times.ts";

const encoder = new TextEncoder();

/** `bytes` cut at `cuts`, which are taken modulo the length. */
function pieces(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...at, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : at[i - 1], end));
}

function read(bytes: Uint8Array, cuts: readonly number[], keep: (event: object) => boolean) {
  const events: unknown[] = [];
  const reader = createEventReader((event) => {
    events.push(event);
    return keep(event);
  });
  const out: number[] = [];
  for (const piece of pieces(bytes, cuts)) out.push(...(reader.chunk(piece) ?? []));
  out.push(...(reader.rest() ?? []));
  return { events, text: new TextDecoder().decode(new Uint8Array(out)) };
}

const event = fc.record({ text: fc.string({ unit: "binary" }), hidden: fc.boolean() });
const end = fc.constantFrom("\n\n", "\r\n\r\n");

test("events are the same however the bytes are cut, and only hidden ones are missing", () => {
  fc.assert(
    fc.property(
      fc.array(event),
      end,
      fc.array(fc.nat(2000)),
      fc.boolean(),
      (events, newline, cuts, whole) => {
        const line = (value: unknown) => `data: ${JSON.stringify(value)}${newline}`;
        const tail = whole ? `data: [DONE]${newline}` : "data: {";
        const bytes = encoder.encode(`: hello\n${events.map(line).join("")}${tail}`);
        const result = read(bytes, cuts, (value) => !(value as { hidden: boolean }).hidden);
        expect(result.events).toEqual(events);
        // Of a hidden event its line goes; the empty line behind it says nothing.
        const rest = newline.slice(newline.length / 2);
        const kept = events.map((value) => (value.hidden ? rest : line(value))).join("");
        expect(result.text).toBe(`: hello\n${kept}${tail}`);
      },
    ),
    times(100),
  );
});
