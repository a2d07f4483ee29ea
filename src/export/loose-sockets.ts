/**
 * Requests that do not hold the process. `fetch` has no way to say so, and a store that hangs would keep a program from
 * its end for as long as a request may take. In Node the sockets are at hand where its fetch tells that it sends.
 *
 * @module
 */
import { nodeModule } from "../internal/node-module.ts";

interface Sending {
  request: { origin?: unknown; path?: unknown };
  /** The head of the request as it is sent. */
  headers: unknown;
  socket: { unref?(): void };
}

interface Channels {
  subscribe(name: string, listener: (message: unknown) => void): void;
  unsubscribe(name: string, listener: (message: unknown) => void): void;
}

const CHANNEL = "undici:client:sendHeaders";

/**
 * Lets go of the sockets that requests to `endpoint` with `userAgent` are sent on; undici itself holds them again for
 * whatever is sent on them next.
 *
 * @returns ends it, for requests that are sent later
 */
export function loosenSockets(endpoint: string, userAgent: string): () => void {
  const channels = nodeModule<Channels>("node:diagnostics_channel");
  if (channels === undefined) return () => {};
  const { origin, pathname, search } = new URL(endpoint);
  const listener = (message: unknown) => {
    const { request, headers, socket } = message as Sending;
    const ours = String(request.origin) === origin && request.path === pathname + search;
    if (ours && String(headers).includes(userAgent)) socket.unref?.();
  };
  channels.subscribe(CHANNEL, listener);
  return () => channels.unsubscribe(CHANNEL, listener);
}
