/**
 * Bounds what requests hold in memory at once, so that overload is answered with "later" and not with a crash.
 *
 * @module
 */
import { AglError } from "../errors.ts";

/** Bounds on the work of a server. */
export interface ServerLimits {
  /** Bytes of one request body, as sent and again as inflated. @default 64 MiB */
  maxBodyBytes: number;
  /** Bytes of all request bodies that are being read or worked on. @default 256 MiB */
  maxBufferedBytes: number;
  /** OTLP exports that are being worked on. @default 64 */
  maxExports: number;
  /** Spans, events, links and attributes in one OTLP export. @default 2,000,000 */
  maxExportObjects: number;
  /** Milliseconds in which a request must have arrived whole. @default 300,000 */
  requestTimeoutMs: number;
  /** Bytes that a reader of the live feed may lag behind before it is cut off. @default 1 MiB */
  maxFeedLagBytes: number;
  /** Events that the live feed keeps for those who come back. @default 1,000 */
  feedHistory: number;
}

/** The limits that hold when nothing else is said. */
export const DEFAULT_LIMITS: ServerLimits = {
  maxBodyBytes: 64 * 1024 * 1024,
  maxBufferedBytes: 256 * 1024 * 1024,
  maxExports: 64,
  maxExportObjects: 2_000_000,
  requestTimeoutMs: 300_000,
  maxFeedLagBytes: 1024 * 1024,
  feedHistory: 1_000,
};

/** Seconds after which a refused request may come again. */
export const RETRY_AFTER_SECONDS = 1;

/** One request's share of the bounds. */
export interface Lease {
  /** Takes more bytes. @throws AglError `unavailable` when the server holds too much already. */
  grow(bytes: number): void;
  /** Memory of `bytes` until the release, from a small supply of it; undefined when that has none of this size left. */
  borrow(bytes: number): Buffer | undefined;
  /** Gives everything back; a second call does nothing. */
  release(): void;
}

/** Size and number of the buffers that are lent out. */
const SUPPLY = { bytes: 1024 * 1024, buffers: 4 };

/** Hands out shares. */
export interface Admission {
  /** A share for one request. @throws AglError `unavailable` when too many are at work. */
  open(): Lease;
}

/** Bounds on what is open at once. */
export function createAdmission(bounds: { maxBytes: number; maxRequests: number }): Admission {
  let bytes = 0;
  let requests = 0;
  // Made when first needed. A large buffer for each request would have the engine collect garbage all the time.
  const supply: Buffer[] = [];
  let made = 0;
  const make = (): Buffer | undefined =>
    made++ < SUPPLY.buffers ? Buffer.allocUnsafeSlow(SUPPLY.bytes) : undefined;
  return {
    open() {
      if (requests >= bounds.maxRequests) throw overloaded("requests");
      requests++;
      let own = 0;
      let released = false;
      const borrowed: Buffer[] = [];
      return {
        grow(more) {
          if (bytes + more > bounds.maxBytes) throw overloaded("bytes");
          bytes += more;
          own += more;
        },
        borrow(size) {
          if (size > SUPPLY.bytes) return undefined;
          const buffer = supply.pop() ?? make();
          if (buffer === undefined) return undefined;
          borrowed.push(buffer);
          return buffer.subarray(0, size);
        },
        release() {
          if (released) return;
          released = true;
          supply.push(...borrowed);
          requests--;
          bytes -= own;
        },
      };
    },
  };
}

function overloaded(what: string): AglError {
  return new AglError("unavailable", `The server works on as many ${what} as it can hold. Try again later.`);
}
