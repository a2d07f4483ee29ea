/**
 * A request's body: read up to a limit, then inflated up to the same limit.
 *
 * @module
 */
import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { AglError } from "../errors.ts";
import type { Lease } from "./admission.ts";

/** The environment of a handler: Node's own request and response, where the app runs on a socket. */
export type ServerEnv = { Bindings: Partial<HttpBindings> };

type Inflate = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const INFLATERS: Readonly<Record<string, (body: Buffer) => Inflate>> = {
  gzip: () => promisify(zlib.gunzip) as Inflate,
  "x-gzip": () => promisify(zlib.gunzip) as Inflate,
  // The name stands for zlib's format, but some senders leave its two-byte head away.
  deflate: (body) => promisify(hasZlibHead(body) ? zlib.inflate : zlib.inflateRaw) as Inflate,
};

/** A larger body arrives in several pieces. */
const PIECE_BYTES = 64 * 1024;

/**
 * The body, inflated as `Content-Encoding` says. Its memory may be used for another request after `lease` is released.
 *
 * @throws AglError `payload_too_large` past `maxBytes`, `unavailable` when `lease` gives no more, `invalid_argument`
 * for data that does not inflate (status 400) or an unknown encoding (415), `aborted` when the sender goes away.
 */
export async function readBody(c: Context<ServerEnv>, maxBytes: number, lease: Lease): Promise<Buffer> {
  const encoding = (c.req.header("content-encoding") ?? "identity").trim().toLowerCase();
  const inflater = INFLATERS[encoding];
  if (inflater === undefined && encoding !== "identity" && encoding !== "") {
    throw new AglError(
      "invalid_argument",
      `Content-Encoding ${encoding} is not known; use gzip or deflate.`,
      {
        status: 415,
      },
    );
  }
  const announced = Number(c.req.header("content-length") ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  let room = announced > PIECE_BYTES ? lease.borrow(announced) : undefined;
  let chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Uint8Array) => {
    const before = size;
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    lease.grow(chunk.length);
    if (room !== undefined && size > room.length) {
      // More than was announced; HTTP servers do not let it come to this.
      chunks = [room.subarray(0, before)];
      room = undefined;
    }
    if (room === undefined) chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    else room.set(chunk, before);
  };
  const incoming = c.env?.incoming as IncomingMessage | undefined;
  if (incoming !== undefined) await readIncoming(incoming, take);
  else for await (const chunk of c.req.raw.body ?? []) take(chunk);
  const body =
    room?.subarray(0, size) ?? (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
  return inflater === undefined || size === 0 ? body : inflate(inflater(body), body, maxBytes, lease);
}

async function inflate(inflater: Inflate, body: Buffer, maxBytes: number, lease: Lease): Promise<Buffer> {
  let whole: Buffer;
  try {
    whole = await inflater(body, { maxOutputLength: maxBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxBytes);
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AglError("invalid_argument", `The body cannot be inflated: ${reason}.`, { status: 400, cause });
  }
  lease.grow(whole.length);
  return whole;
}

/** Reads by listeners: leaving an async iteration early would destroy the socket before the refusal is sent. */
function readIncoming(incoming: IncomingMessage, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown) => {
      incoming.off("data", onData).off("end", onEnd).off("error", onGone).off("close", onGone);
      if (error === undefined) resolve();
      else {
        incoming.pause();
        reject(error);
      }
    };
    const onData = (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        settle(error);
      }
    };
    const onEnd = () => settle();
    const onGone = () =>
      settle(new AglError("aborted", "The sender went away before the whole body arrived."));
    if (incoming.readableEnded) return resolve();
    if (incoming.destroyed) return onGone();
    incoming.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone);
  });
}

function hasZlibHead(body: Buffer): boolean {
  return body.length >= 2 && ((body[0] as number) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;
}

function tooLarge(maxBytes: number): AglError {
  return new AglError("payload_too_large", `The body is larger than ${maxBytes} bytes. Send less at a time.`);
}
