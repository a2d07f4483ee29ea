/**
 * What a request to a store can end in, as an AglError and as what a retry has to know about it.
 *
 * @module
 */
import { AglError, type AglErrorCode } from "../errors.ts";
import { parseRetryAfter } from "../internal/retry-after.ts";

/** A request that did not give an answer to use. */
export interface Failure {
  error: AglError;
  /** True when the same request may succeed later. */
  transient: boolean;
  /** True when the server certainly did nothing, so that even a request that must not run twice can be sent again. */
  untouched: boolean;
  /** What the server's `Retry-After` asks for, in milliseconds. */
  retryAfterMs?: number | undefined;
}

const CODE_BY_STATUS: Readonly<Record<number, AglErrorCode>> = {
  400: "invalid_argument",
  401: "unauthorized",
  403: "unauthorized",
  404: "not_found",
  405: "unsupported",
  408: "timeout",
  409: "conflict",
  413: "payload_too_large",
  422: "invalid_argument",
  425: "unavailable",
  429: "unavailable",
  501: "unsupported",
  502: "unavailable",
  503: "unavailable",
  504: "timeout",
};

const REMEDY: Readonly<Partial<Record<AglErrorCode, string>>> = {
  unauthorized: "Give the store's key: the `key` option, or AGL_KEY.",
  unsupported: "Check that the URL is the root of a LightningStore, such as http://127.0.0.1:4747.",
  payload_too_large: "Send less in one call, or raise the limit of the server.",
  unavailable: "Try again later; the server is overloaded or restarting.",
};

/** Faults of the calling code in the Python server's 500 answers; sending the same again changes nothing. */
const PYTHON_FAULTS: ReadonlySet<string> = new Set([
  "ValueError",
  "TypeError",
  "KeyError",
  "RuntimeError",
  "NotImplementedError",
  "ResponseValidationError",
]);

/** The error body as far as it can be read: FastAPI's `detail` (text or a list of faults), else the text itself. */
function detailOf(text: string): { detail: string; json: Record<string, unknown> | undefined } {
  try {
    const json = JSON.parse(text) as Record<string, unknown> | null;
    if (typeof json === "object" && json !== null) {
      const detail = json["detail"] ?? json["error"] ?? json["message"] ?? json;
      return { detail: typeof detail === "string" ? detail : JSON.stringify(detail), json };
    }
  } catch {
    // Not JSON: a proxy's page, or another program.
  }
  return { detail: text.slice(0, 300).trim(), json: undefined };
}

/**
 * The Python server answers every error of its store with 500 and a traceback, whose last line says what it was.
 * Undefined for any other server, and for faults that may pass.
 */
function pythonFault(
  json: Record<string, unknown> | undefined,
): { code: AglErrorCode; detail: string } | undefined {
  const type = json?.["error_type"];
  if (typeof type !== "string" || !PYTHON_FAULTS.has(type)) return undefined;
  const traceback = json?.["traceback"];
  const lines = typeof traceback === "string" ? traceback.trimEnd().split("\n") : [];
  const line = lines.findLast((text) => text.includes(`${type}: `));
  const detail = line === undefined ? type : line.slice(line.indexOf(`${type}: `) + type.length + 2);
  if (/not found|No attempts found|does not exist with primary key/i.test(detail))
    return { code: "not_found", detail };
  return { code: type === "ValueError" ? "invalid_argument" : "internal", detail: `${type}: ${detail}` };
}

/** True for the 404 of a path that the server does not know, as against that of an unknown rollout. */
function isUnknownRoute(status: number, detail: string, json: unknown): boolean {
  return status === 404 && (json === undefined || /^(404 )?not found$/i.test(detail));
}

/** The failure that an HTTP answer with a status other than 2xx stands for. */
export function failureOfResponse(request: string, response: Response, text: string): Failure {
  const { status } = response;
  // A date is measured on the server's own clock, where it tells it: the two machines need not agree.
  const serverNow = Date.parse(response.headers.get("date") ?? "");
  const retryAfterMs = parseRetryAfter(
    response.headers.get("retry-after"),
    Number.isNaN(serverNow) ? Date.now() : serverNow,
  );
  const { detail, json } = detailOf(text);
  const fault = status === 500 ? pythonFault(json) : undefined;
  if (fault !== undefined) {
    const error = new AglError(fault.code, `${request} failed: ${fault.detail}`, {
      status,
      retryable: false,
    });
    return { error, transient: false, untouched: false };
  }
  if (status >= 300 && status < 400) {
    const target = response.headers.get("location") ?? "another address";
    const message = `${request} was redirected to ${target}. Give the store's final URL.`;
    return {
      error: new AglError("invalid_argument", message, { status }),
      transient: false,
      untouched: false,
    };
  }
  let code = CODE_BY_STATUS[status] ?? (status >= 500 ? "internal" : "invalid_argument");
  if (isUnknownRoute(status, detail, json)) code = "unsupported";
  const transient = status >= 500 ? status !== 501 : status === 408 || status === 425 || status === 429;
  const remedy = REMEDY[code];
  const message = `${request} answered ${status}${detail === "" ? "" : `: ${detail}`}${remedy ? `${detail.endsWith(".") ? "" : "."} ${remedy}` : ""}`;
  return {
    error: new AglError(code, message, { status, retryable: transient }),
    transient,
    // A server that says when to come again has not taken the request.
    untouched: status === 429 || status === 425 || (status === 503 && retryAfterMs !== undefined),
    retryAfterMs,
  };
}

interface NetworkFault {
  code?: unknown;
  syscall?: unknown;
  message?: unknown;
  cause?: unknown;
  errors?: unknown;
}

const CONNECT_CODES: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  "ConnectionRefused",
]);

/** True when no connection was made, whatever addresses were tried, so that nothing of the request was sent. */
function neverConnected(fault: NetworkFault): boolean {
  if (Array.isArray(fault.errors) && fault.errors.length > 0) return fault.errors.every(neverConnected);
  return fault.syscall === "connect" || CONNECT_CODES.has(fault.code);
}

/** The failure that an error thrown by `fetch`, or while the body was read, stands for. */
export function failureOfNetwork(request: string, thrown: unknown): Failure {
  const outer = (typeof thrown === "object" && thrown !== null ? thrown : {}) as NetworkFault;
  const inner = (
    typeof outer.cause === "object" && outer.cause !== null ? outer.cause : outer
  ) as NetworkFault;
  const untouched = neverConnected(inner);
  const reason = String(inner.code ?? inner.message ?? thrown);
  const message = untouched
    ? `${request} failed: no connection (${reason}). Start a store there (\`agl serve\`), or correct AGL_STORE_URL.`
    : `${request} failed: the connection broke (${reason}).`;
  return { error: new AglError("unavailable", message, { cause: thrown }), transient: true, untouched };
}
