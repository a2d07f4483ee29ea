/**
 * Errors as HTTP answers. A fault inside the server says nothing of its own in the answer; the log has it.
 *
 * @module
 */
import { AglError, type AglErrorCode } from "../errors.ts";
import { RETRY_AFTER_SECONDS } from "./admission.ts";
import type { Logger } from "./log.ts";

const STATUS: Readonly<Record<AglErrorCode, number>> = {
  invalid_argument: 422,
  not_found: 404,
  conflict: 409,
  unauthorized: 401,
  payload_too_large: 413,
  unsupported: 501,
  unavailable: 503,
  timeout: 503,
  aborted: 503,
  closed: 503,
  internal: 500,
};

/** What is answered in place of a result. `detail` is where FastAPI's clients look. */
export interface Refusal {
  status: number;
  body: { detail: unknown; code: AglErrorCode };
  headers: Record<string, string>;
}

/** The answer to an error; one that is not the client's doing is logged with its stack. */
export function refusalOf(error: unknown, logger: Logger): Refusal {
  if (!AglError.is(error) || error.code === "internal") {
    logger.error("A request failed", { error: error instanceof Error ? error.stack : String(error) });
    return { status: 500, body: { detail: "Internal server error", code: "internal" }, headers: {} };
  }
  const status = error.status ?? STATUS[error.code];
  return { status, body: { detail: error.message, code: error.code }, headers: headersOf(status) };
}

/** A refusal of a request that does not fit the contract. */
export function refuse(status: number, detail: unknown, code: AglErrorCode = "invalid_argument"): Refusal {
  return { status, body: { detail, code }, headers: headersOf(status) };
}

function headersOf(status: number): Record<string, string> {
  if (status === 429 || status === 503) return { "retry-after": String(RETRY_AFTER_SECONDS) };
  if (status === 401) return { "www-authenticate": "Bearer" };
  return {};
}
