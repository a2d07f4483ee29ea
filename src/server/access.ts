/**
 * Who may call: holders of the key or, on a server without one, programs of this machine that are not web pages.
 *
 * @module
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { type Refusal, refuse } from "./refusal.ts";

/** What of a request decides. */
export interface Caller {
  /** Host name that the request was addressed to. */
  hostname: string;
  /** Value of a header, by lower-case name. */
  header(name: string): string | undefined;
}

/** Why a caller is refused; undefined lets it in. */
export type AccessCheck = (caller: Caller) => Refusal | undefined;

/** True for names and addresses that only this machine can reach. */
export function isLoopback(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  return (
    name === "localhost" || name.endsWith(".localhost") || name === "::1" || /^127(\.\d{1,3}){3}$/.test(name)
  );
}

/** Asks for `Authorization: Bearer <key>` or `x-api-key: <key>`. */
export function createKeyCheck(key: string): AccessCheck {
  const expected = digest(key);
  return (caller) => {
    const bearer = /^Bearer +(.*)$/i.exec(caller.header("authorization") ?? "")?.[1];
    const given = bearer ?? caller.header("x-api-key");
    // Digests have one length, so the comparison takes the same time whatever was given.
    if (given !== undefined && timingSafeEqual(digest(given.trim()), expected)) return undefined;
    const what = given === undefined ? "No key was given" : "The key is wrong";
    return refuse(401, `${what}. Send the header "Authorization: Bearer <key>".`, "unauthorized");
  };
}

/**
 * Keeps web pages away from a server without a key: a page may send requests to loopback, and a name that it
 * controls may point there. Origins in `corsOrigins` are let in.
 */
export function createLoopbackCheck(corsOrigins: readonly string[]): AccessCheck {
  return (caller) => {
    if (!isLoopback(caller.hostname)) {
      return refuse(
        403,
        `A server without a key answers only to names such as localhost and 127.0.0.1, not ${caller.hostname}. Start it with a key.`,
        "unauthorized",
      );
    }
    const origin = caller.header("origin");
    if (origin === undefined || corsOrigins.includes("*") || corsOrigins.includes(origin)) return undefined;
    if (URL.canParse(origin) && isLoopback(new URL(origin).hostname)) return undefined;
    return refuse(403, `Requests from ${origin} are not allowed. Name it as a CORS origin.`, "unauthorized");
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
