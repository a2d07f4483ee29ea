/**
 * A tokenizer for tests: no vocabulary file, every id sequence decodes to exactly the text that it came from.
 *
 * A piece is one or two UTF-8 bytes; a space opens a new piece. Ids 0 to 255 are single bytes, 256 to 65 791 are pairs,
 * and above them lie the marks that a chat template adds.
 *
 * @module
 */

const PAIRS = 256;
const MARKS = PAIRS + 65_536;

/** Texts of the marks; a mark's id is 65 792 plus its place here. Text of the user never encodes to a mark. */
const MARK_TEXTS = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|media|>"] as const;

/** A mark of the chat template. */
export type Mark = (typeof MARK_TEXTS)[number];

/** Ids in the vocabulary, marks included. */
export const VOCABULARY_SIZE = MARKS + MARK_TEXTS.length;

const SPACE = 0x20;
const encoder = new TextEncoder();

/** The id of a mark. */
export function markId(mark: Mark): number {
  return MARKS + MARK_TEXTS.indexOf(mark);
}

/** The mark that ends every answer which was not cut short. */
export const END_ID: number = markId("<|end|>");

/** Ids of a text. `decode(encode(text)) === text` for every well-formed string. */
export function encode(text: string): number[] {
  const bytes = encoder.encode(text);
  const ids: number[] = [];
  for (let i = 0; i < bytes.length; ) {
    const first = bytes[i++]!;
    const second = bytes[i];
    if (second === undefined || second === SPACE) {
      ids.push(first);
    } else {
      ids.push(PAIRS + first * 256 + second);
      i++;
    }
  }
  return ids;
}

/** Bytes of one id; none for a mark. Throws RangeError for an id outside the vocabulary. */
export function bytesOf(id: number): number[] {
  if (!Number.isInteger(id) || id < 0 || id >= VOCABULARY_SIZE) {
    throw new RangeError(`${id} is not a token id (0 to ${VOCABULARY_SIZE - 1})`);
  }
  if (id < PAIRS) return [id];
  if (id < MARKS) return [(id - PAIRS) >> 8, (id - PAIRS) & 255];
  return [];
}

/** Options of {@link decode}. */
export interface DecodeOptions {
  /** Whether marks appear in the text; false by default. */
  marks?: boolean;
}

/** Text of ids. A character that was cut in half becomes U+FFFD. */
export function decode(ids: Iterable<number>, options: DecodeOptions = {}): string {
  const bytes: number[] = [];
  for (const id of ids) {
    if (options.marks === true && id >= MARKS && id < VOCABULARY_SIZE) {
      bytes.push(...encoder.encode(MARK_TEXTS[id - MARKS]));
    } else {
      bytes.push(...bytesOf(id));
    }
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));
}

/** Decodes ids as they arrive: a character whose bytes are not all there is held back. */
export interface StreamingDecoder {
  /** The text that `ids` complete. */
  push(ids: readonly number[]): string;
  /** The text still held back. */
  end(): string;
}

/** A decoder for one stream. */
export function createStreamingDecoder(): StreamingDecoder {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return {
    push: (ids) => decoder.decode(new Uint8Array(ids.flatMap(bytesOf)), { stream: true }),
    end: () => decoder.decode(),
  };
}
