/**
 * OTLP's answers in both encodings: `ExportTraceServiceResponse` and `google.rpc.Status`.
 *
 * @module
 */

/** Media types of the two encodings. */
export const PROTOBUF = "application/x-protobuf";
/** See {@link PROTOBUF}. */
export const JSON_TYPE = "application/json";
/** One of the two encodings. */
export type OtlpType = typeof PROTOBUF | typeof JSON_TYPE;

/** How many spans were not stored, and why. */
export interface PartialSuccess {
  rejectedSpans: number;
  errorMessage: string;
}

/** Codes of `google.rpc.Status` by HTTP status. */
const RPC_CODE: Readonly<Record<number, number>> = { 401: 16, 413: 8, 429: 8, 500: 13, 501: 12, 503: 14 };
/** INVALID_ARGUMENT, for every other status. */
const RPC_DEFAULT = 3;

/** The answer to an export; empty when everything was stored. */
export function encodeExportReply(type: OtlpType, partial: PartialSuccess | undefined): Uint8Array {
  if (type === JSON_TYPE) {
    // 64-bit numbers are text in protobuf's JSON.
    const reply = partial && {
      partialSuccess: { ...partial, rejectedSpans: String(partial.rejectedSpans) },
    };
    return Buffer.from(JSON.stringify(reply ?? {}));
  }
  if (partial === undefined) return new Uint8Array();
  const message = Buffer.from(partial.errorMessage);
  return field(1, Buffer.concat([number(1, partial.rejectedSpans), field(2, message)]));
}

/** The body of a refusal. */
export function encodeStatus(type: OtlpType, status: number, message: string): Uint8Array {
  const code = RPC_CODE[status] ?? RPC_DEFAULT;
  if (type === JSON_TYPE) return Buffer.from(JSON.stringify({ code, message }));
  return Buffer.concat([number(1, code), field(2, Buffer.from(message))]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return bytes;
}

function number(id: number, value: number): Buffer {
  return Buffer.from([id << 3, ...varint(value)]);
}

function field(id: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([(id << 3) | 2, ...varint(bytes.length)]), bytes]);
}
