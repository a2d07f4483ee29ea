/**
 * The LightningStore server on a socket.
 *
 * @module
 */
import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { AglError } from "../errors.ts";
import { createWatchdog } from "../store/watchdog.ts";
import { isLoopback } from "./access.ts";
import { DEFAULT_LIMITS } from "./admission.ts";
import { type AppOptions, createApp } from "./app.ts";
import { SILENT } from "./log.ts";

/** Options of {@link serveStore}. */
export interface ServeOptions extends Omit<AppOptions, "stopping"> {
  /** 0 takes a free one. @default 4747 */
  port?: number | undefined;
  /** Address to listen on; another than loopback needs a key. @default "127.0.0.1" */
  host?: string | undefined;
  /** Milliseconds that {@link StoreServer.close} waits for requests in flight. @default 10,000 */
  stopTimeoutMs?: number | undefined;
  /** Seconds between two looks for attempts whose time is up. @default 5 */
  watchdogSeconds?: number | undefined;
}

/** A server that listens. */
export interface StoreServer {
  /** Root of the store, without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /**
   * Stops listening, ends long polls and feeds, waits for requests in flight and closes the store. What is not done
   * in time is cut off. Further calls give the same promise.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Serves a store until it is closed; closes the store then.
 *
 * @throws AglError `invalid_argument` for a host that others can reach when there is no key, `unavailable` when the
 * address cannot be listened on. The store stays open then.
 * @example
 * ```ts
 * import { serveStore } from "agentlightning/server";
 * import { openMemoryStore } from "agentlightning/store";
 * const server = await serveStore({ store: await openMemoryStore(), port: 0 });
 * console.log(server.url);
 * await server.close();
 * ```
 */
export async function serveStore(options: ServeOptions): Promise<StoreServer> {
  const host = options.host ?? "127.0.0.1";
  const logger = options.logger ?? SILENT;
  if (options.key === "")
    throw new AglError("invalid_argument", "The key is empty. Give one, or leave it out.");
  if (options.key === undefined && !isLoopback(host)) {
    throw new AglError(
      "invalid_argument",
      `Listening on ${host} without a key would let anyone who can reach this machine in. Give a key, or listen on 127.0.0.1.`,
    );
  }
  const stopping = new AbortController();
  const app = createApp({ ...options, stopping: stopping.signal });
  const requestTimeout = options.limits?.requestTimeoutMs ?? DEFAULT_LIMITS.requestTimeoutMs;
  const server = createAdaptorServer({
    fetch: app.fetch,
    // The process may be the user's: its globals are not ours to replace.
    overrideGlobalObjects: false,
    serverOptions: {
      requestTimeout,
      headersTimeout: Math.min(requestTimeout, 60_000),
      connectionsCheckingInterval: Math.min(requestTimeout, 5_000),
    },
  }) as Server;
  const unused = watchUnused(server);
  const port = await listen(server, host, options.port ?? 4747);
  const url = `http://${hostInUrl(host)}:${port}`;
  logger.info("Listening", { url, key: options.key !== undefined });
  const watchdog =
    "checkTimeouts" in options.store
      ? createWatchdog(options.store, {
          intervalSeconds: options.watchdogSeconds ?? 5,
          onError: (error) => logger.error("The watchdog failed", { error: String(error) }),
        })
      : undefined;

  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      logger.info("Stopping");
      stopping.abort(new AglError("unavailable", "The server is stopping."));
      await drain(server, unused, options.stopTimeoutMs ?? 10_000);
      await watchdog?.close();
      await options.store.close();
      logger.info("Stopped");
    })();
    return closing;
  };
  return { url, port, close, [Symbol.asyncDispose]: close };
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const remedy =
        cause.code === "EADDRINUSE"
          ? "Another program listens there. Stop it, or choose another port (0 takes a free one)."
          : `${cause.message}.`;
      const message = `Cannot listen on ${host} port ${port}: ${remedy}`;
      reject(new AglError("unavailable", message, { retryable: false, cause }));
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

/** Connections that have not sent a request yet: Node does not count them as idle, and clients keep some ready. */
function watchUnused(server: Server): ReadonlySet<Socket> {
  const unused = new Set<Socket>();
  server.on("connection", (socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  server.on("request", (request) => unused.delete(request.socket));
  return unused;
}

/** Resolves when the last connection is gone, which is made so when the time is up. */
function drain(server: Server, unused: ReadonlySet<Socket>, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), timeoutMs);
    // A connection that was busy when the server closed stays open for its client's next request; not here.
    const closeIdle = () => {
      for (const socket of unused) socket.destroy();
      server.closeIdleConnections();
    };
    const sweep = setInterval(closeIdle, 50);
    server.close(() => {
      clearTimeout(deadline);
      clearInterval(sweep);
      resolve();
    });
    closeIdle();
  });
}

/** The host as others write it: a wildcard address is reached by name, an IPv6 address stands in brackets. */
function hostInUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
