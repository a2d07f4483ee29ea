/**
 * Reads the JSON events of a stream of server-sent events, bytes coming in any pieces, and leaves out those that the
 * user has not asked for.
 *
 * @module
 */
import { isObject, type Loose } from "../openai/shape.ts";

/** Takes a stream's bytes; gives those to hand on. */
export interface EventReader {
  chunk(bytes: Uint8Array): Uint8Array | undefined;
  /** The bytes that are left when the stream ends. */
  rest(): Uint8Array | undefined;
}

const NEWLINE = 10;

/** A reader that gives each `data:` line that is a JSON object to `onEvent`, which says whether to keep it. */
export function createEventReader(onEvent: (event: Loose) => boolean): EventReader {
  const decoder = new TextDecoder();
  let pending: Uint8Array[] = [];
  const whole = (): Uint8Array => {
    const only = pending.length === 1 ? pending[0] : undefined;
    return only ?? joined(pending);
  };
  return {
    chunk(bytes) {
      const last = bytes.lastIndexOf(NEWLINE);
      if (last < 0) {
        pending.push(bytes);
        return undefined;
      }
      pending.push(bytes.subarray(0, last + 1));
      const lines = whole();
      pending = last + 1 < bytes.length ? [bytes.subarray(last + 1)] : [];
      const kept: Uint8Array[] = [];
      let from = 0;
      let start = 0;
      for (let end = lines.indexOf(NEWLINE); end >= 0; end = lines.indexOf(NEWLINE, start)) {
        const event = eventOf(decoder.decode(lines.subarray(start, end)));
        if (event !== undefined && !onEvent(event)) {
          kept.push(lines.subarray(from, start));
          from = end + 1;
        }
        start = end + 1;
      }
      if (from === 0) return lines;
      kept.push(lines.subarray(from));
      return joined(kept);
    },
    rest: () => (pending.length === 0 ? undefined : whole()),
  };
}

function eventOf(line: string): Loose | undefined {
  if (!line.startsWith("data:")) return undefined;
  try {
    const value: unknown = JSON.parse(line.slice(5));
    return isObject(value) ? value : undefined;
  } catch {
    // "[DONE]", or a line that the SDK will refuse by itself.
    return undefined;
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
