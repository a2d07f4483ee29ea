/**
 * Writes protobuf from the back to the front: the length of a message, which stands before it, is then known when it
 * is written, and nothing has to be measured first or moved afterwards.
 *
 * @module
 */

/** Shorter strings are written by hand: the call of the encoder costs more. */
const SHORT = 40;
const FIRST_BYTES = 64 * 1024;
/** A larger buffer is not kept for the next message. */
const KEPT_BYTES = 2 * 1024 * 1024;
/** Messages up to this size share memory: to find some for each is dear where a process has freed much of it. */
const SHARING_BYTES = 64 * 1024;
const SHARED_BYTES = 256 * 1024;
const NIBBLES = new Uint8Array(128);
for (let i = 0; i < 16; i++) {
  NIBBLES[i.toString(16).charCodeAt(0)] = i;
  NIBBLES[i.toString(16).toUpperCase().charCodeAt(0)] = i;
}

/** A protobuf message that grows at its front: fields are written last to first, the payload of each before its head. */
export class ProtoWriter {
  readonly #encoder = new TextEncoder();
  #bytes = new Uint8Array(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);
  /** Everything from here on is written. */
  #at = FIRST_BYTES;
  #shared = new Uint8Array(0);
  /** From here on it is nobody's yet. */
  #free = 0;

  /** Bytes written so far. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  /** Forgets what was written. */
  reset(): void {
    this.#at = this.#bytes.length;
  }

  /** The message, maybe a part of a larger buffer that nobody writes to again; the writer is empty afterwards. */
  take(): Uint8Array {
    const message = this.length > SHARING_BYTES ? this.#bytes.slice(this.#at) : this.#share();
    if (this.#bytes.length > KEPT_BYTES) this.#allocate(FIRST_BYTES);
    this.reset();
    return message;
  }

  #share(): Uint8Array {
    // Whoever was given a message may also have transferred its memory to another thread.
    if (this.#free + this.length > this.#shared.length) {
      this.#shared = new Uint8Array(SHARED_BYTES);
      this.#free = 0;
    }
    const start = this.#free;
    this.#shared.set(this.#bytes.subarray(this.#at), start);
    this.#free += this.length;
    return this.#shared.subarray(start, this.#free);
  }

  /** Head of a field whose payload, all that was written since the writer's length was `before`, is a message. */
  close(field: number, before: number): void {
    this.#varint(this.length - before);
    this.#varint(field * 8 + 2);
  }

  /** A string; half surrogate pairs become U+FFFD. */
  string(field: number, text: string): void {
    const before = this.length;
    this.#text(text);
    this.close(field, before);
  }

  /** Bytes, given as hexadecimal digits. */
  hex(field: number, digits: string): void {
    const count = digits.length >> 1;
    this.#reserve(count);
    this.#at -= count;
    for (let i = 0; i < count; i++) {
      const high = NIBBLES[digits.charCodeAt(2 * i)] as number;
      this.#bytes[this.#at + i] = (high << 4) | (NIBBLES[digits.charCodeAt(2 * i + 1)] as number);
    }
    this.#varint(count);
    this.#varint(field * 8 + 2);
  }

  /** An integer from 0 to `Number.MAX_SAFE_INTEGER`, an enum or a boolean. */
  uint(field: number, value: number): void {
    this.#varint(value);
    this.#varint(field * 8);
  }

  /** An integer from -2^63 to below 2^63. */
  int(field: number, value: number): void {
    if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) {
      this.uint(field, value);
      return;
    }
    const bytes: number[] = [];
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    this.#reserve(bytes.length);
    this.#at -= bytes.length;
    this.#bytes.set(bytes, this.#at);
    this.#varint(field * 8);
  }

  double(field: number, value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#view.setFloat64(this.#at, value, true);
    this.#varint(field * 8 + 1);
  }

  fixed32(field: number, value: number): void {
    this.#reserve(4);
    this.#at -= 4;
    this.#view.setUint32(this.#at, value, true);
    this.#varint(field * 8 + 5);
  }

  /** Eight bytes, little end first. */
  fixed64(field: number, value: bigint): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#view.setBigUint64(this.#at, value, true);
    this.#varint(field * 8 + 1);
  }

  #text(text: string): void {
    const { length } = text;
    this.#reserve(length);
    if (length < SHORT) {
      const start = this.#at - length;
      let i = 0;
      for (; i < length; i++) {
        const code = text.charCodeAt(i);
        if (code > 127) break;
        this.#bytes[start + i] = code;
      }
      if (i === length) {
        this.#at = start;
        return;
      }
    } else {
      const room = this.#bytes.subarray(this.#at - length, this.#at);
      // As many bytes as characters: only ASCII fits.
      if (this.#encoder.encodeInto(text, room).read === length) {
        this.#at -= length;
        return;
      }
    }
    const encoded = this.#encoder.encode(text);
    this.#reserve(encoded.length);
    this.#at -= encoded.length;
    this.#bytes.set(encoded, this.#at);
  }

  #varint(value: number): void {
    this.#reserve(8);
    if (value < 0x80) {
      this.#bytes[--this.#at] = value;
      return;
    }
    let size = 2;
    for (let most = 0x4000; value >= most; most *= 0x80) size++;
    let at = this.#at - size;
    this.#at = at;
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[at] = rest;
  }

  #reserve(count: number): void {
    if (this.#at >= count) return;
    const written = this.#bytes.subarray(this.#at);
    const size = Math.max(this.#bytes.length * 2, written.length + count);
    this.#allocate(size);
    this.#at = size - written.length;
    this.#bytes.set(written, this.#at);
  }

  #allocate(size: number): void {
    this.#bytes = new Uint8Array(size);
    this.#view = new DataView(this.#bytes.buffer);
  }
}
