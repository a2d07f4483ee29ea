/**
 * Random ids as hex strings.
 *
 * @module
 */

const HEX: readonly string[] = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));
// One system call fills many ids: asking for 8 bytes at a time costs more than the rest of a span's start.
const POOL = new Uint8Array(2048);
let used = POOL.length;

/** `bytes` random bytes (at most 2048) as lower-case hex. */
export function randomHex(bytes: number): string {
  if (used + bytes > POOL.length) {
    globalThis.crypto.getRandomValues(POOL);
    used = 0;
  }
  let out = "";
  for (let i = 0; i < bytes; i++) out += HEX[POOL[used++] as number];
  return out;
}
