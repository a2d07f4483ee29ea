/**
 * The one error class of the package, and the closed set of its codes.
 *
 * @module
 */

/**
 * What went wrong, as a word that a program can test.
 *
 * - `invalid_argument`: a value given by the caller cannot be used.
 * - `not_found`: the store has no such rollout, attempt, worker or resource.
 * - `conflict`: the state of the rollout or attempt does not allow the request.
 * - `unauthorized`: the key is missing or wrong.
 * - `payload_too_large`: a request body is over the server's limit.
 * - `unsupported`: this runtime, server or package cannot do what was asked.
 * - `unavailable`: the other side could not be reached, or asked to be called later.
 * - `timeout`: a deadline passed before the answer came.
 * - `aborted`: the caller's own signal ended the work.
 * - `closed`: the store, client or exporter was used after it was closed.
 * - `internal`: a fault of the other side (HTTP 5xx) or of this package.
 */
export type AglErrorCode =
  | "invalid_argument"
  | "not_found"
  | "conflict"
  | "unauthorized"
  | "payload_too_large"
  | "unsupported"
  | "unavailable"
  | "timeout"
  | "aborted"
  | "closed"
  | "internal";

const BRAND = Symbol.for("agentlightning.error");
const RETRYABLE: ReadonlySet<AglErrorCode> = new Set(["unavailable", "timeout"]);

/** Options of {@link AglError}. */
export interface AglErrorOptions {
  /** Whether the same call may succeed later; by default true for `unavailable` and `timeout`. */
  retryable?: boolean;
  /** HTTP status of the answer that caused the error. */
  status?: number;
  /** The error underneath. */
  cause?: unknown;
}

/**
 * An error of this package. Recognise it with {@link AglError.is}, which also works when the ESM and the CJS build
 * of the package are loaded side by side (`instanceof` does not).
 */
export class AglError extends Error {
  readonly code: AglErrorCode;
  readonly retryable: boolean;
  readonly status: number | undefined;

  constructor(code: AglErrorCode, message: string, options: AglErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? RETRYABLE.has(code);
    this.status = options.status;
  }

  /** True when `value` is an AglError of any copy of this package. */
  static is(value: unknown): value is AglError {
    return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[BRAND] === true;
  }
}
// On the prototype, so that neither shows up as an own property when the error is printed.
Object.defineProperty(AglError.prototype, "name", { value: "AglError", configurable: true, writable: true });
Object.defineProperty(AglError.prototype, BRAND, { value: true });
