/**
 * The LightningStore server as an application without a socket.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { ROUTES, type Route } from "../protocol/routes.ts";
import type { LightningStore, LocalStore } from "../store/interface.ts";
import { createKeyCheck, createLoopbackCheck } from "./access.ts";
import { type Admission, createAdmission, DEFAULT_LIMITS, type ServerLimits } from "./admission.ts";
import { eventStream } from "./event-stream.ts";
import { createFeed } from "./feed.ts";
import { type Call, createHandlers, type StoreRoute } from "./handlers.ts";
import { type Logger, SILENT } from "./log.ts";
import { createOpenApi } from "./openapi.ts";
import { createExportHandler } from "./otlp/export.ts";
import { type Refusal, refusalOf, refuse } from "./refusal.ts";
import { replyJson } from "./reply-json.ts";
import { readBody, type ServerEnv } from "./request-body.ts";
import { checkBody, checkQuery } from "./validation.ts";
import { VERSION } from "./version.ts";

/** Options of {@link createApp}. */
export interface AppOptions {
  /** What is served. Only a store of this process has a live feed. */
  store: LightningStore | LocalStore;
  /** The key that callers must give. Without one, only programs of this machine are answered. */
  key?: string | undefined;
  /** Origins of web pages that may call; `*` for all. @default none */
  corsOrigins?: readonly string[] | undefined;
  /** @default silent */
  logger?: Logger | undefined;
  /** Bounds that differ from {@link DEFAULT_LIMITS}. */
  limits?: Partial<ServerLimits> | undefined;
  /** Milliseconds between comments in the live feed. @default 15,000 */
  keepAliveMs?: number | undefined;
  /** Ends long polls and live feeds when it fires. */
  stopping?: AbortSignal | undefined;
  /** Milliseconds on a clock that only rises, for the request log. @default performance.now */
  clock?: (() => number) | undefined;
}

type ServerContext = Context<ServerEnv>;

/** Answers that need no key: what a client asks before it has one. */
const OPEN_PATHS: ReadonlySet<string> = new Set(["/", "/openapi.json", ROUTES.health.path]);

/** The application; `app.request(path)` calls it without a socket. */
export function createApp(options: AppOptions): Hono<ServerEnv> {
  const { store } = options;
  const logger = options.logger ?? SILENT;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const stopping = options.stopping ?? new AbortController().signal;
  const bodies = createAdmission({ maxBytes: limits.maxBufferedBytes, maxRequests: Infinity });
  const exports = createAdmission({ maxBytes: Infinity, maxRequests: limits.maxExports });
  const app = new Hono<ServerEnv>({ strict: false });

  app.onError((error, c) => send(c, refusalOf(error, logger)));
  app.notFound((c) => send(c, unknownRoute(c)));
  useRequestLog(app, logger, options.clock ?? (() => performance.now()));
  useCors(app, options.corsOrigins ?? []);
  useAccess(app, options);

  app.get("/", (c) => c.json({ name: "agentlightning", version: VERSION, openapi: "/openapi.json" }));
  // Made when it is first asked for: most servers never are.
  let document: ReturnType<typeof createOpenApi> | undefined;
  app.get("/openapi.json", (c) => {
    document ??= createOpenApi(VERSION);
    return c.json(document);
  });
  app.get(ROUTES.events.path, createEventsHandler(options, limits, stopping));
  app.post(ROUTES.otlpTraces.path, createExportHandler({ store, limits, bodies, exports, logger }));
  for (const route of [ROUTES.otlpMetrics, ROUTES.otlpLogs, ROUTES.otlpProfiles]) {
    app.post(route.path, (c) => c.body(null, 501));
  }

  for (const [name, handler] of Object.entries(createHandlers(store))) {
    const route: Route = ROUTES[name as StoreRoute];
    app.on(route.method, honoPath(route.path), async (c) => {
      const read = await readCall(c, route, limits, bodies, stopping);
      if ("refusal" in read) return send(c, read.refusal);
      const result = await (handler as (call: unknown) => Promise<unknown>)(read.call);
      return replyJson(c, result, route.status === 201 ? 201 : 200);
    });
  }
  return app;
}

function useRequestLog(app: Hono<ServerEnv>, logger: Logger, clock: () => number): void {
  app.use(async (c, next) => {
    const start = clock();
    await next();
    const { method, path } = c.req;
    logger.debug("request", { method, path, status: c.res.status, ms: Math.round(clock() - start) });
  });
}

function useCors(app: Hono<ServerEnv>, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const all = origins.includes("*");
  // Browsers take neither `*` for any origin together with credentials, nor `*` for headers then.
  const allowed = all ? "*" : [...origins];
  app.use(
    cors({
      origin: allowed,
      credentials: !all,
      allowMethods: ["GET", "POST"],
      exposeHeaders: ["retry-after"],
    }),
  );
}

function useAccess(app: Hono<ServerEnv>, options: AppOptions): void {
  const check =
    options.key === undefined ? createLoopbackCheck(options.corsOrigins ?? []) : createKeyCheck(options.key);
  app.use(async (c, next) => {
    if (options.key !== undefined && c.req.method === "GET" && OPEN_PATHS.has(c.req.path)) return next();
    const { hostname } = new URL(c.req.url);
    const refusal = check({ hostname, header: (name) => c.req.header(name) });
    return refusal === undefined ? next() : send(c, refusal);
  });
}

function createEventsHandler(options: AppOptions, limits: ServerLimits, stopping: AbortSignal) {
  const { store } = options;
  const feed =
    "subscribe" in store
      ? createFeed(store, { history: limits.feedHistory, run: randomUUID().slice(0, 8), signal: stopping })
      : undefined;
  return (c: ServerContext) => {
    if (feed === undefined) {
      return send(c, refuse(501, "This store cannot tell what happens in it as it happens.", "unsupported"));
    }
    const query = checkQuery(ROUTES.events.query, c.req.queries());
    if ("refusal" in query) return send(c, query.refusal);
    return eventStream(feed, {
      query: query.value as Call<"events">["query"],
      lastEventId: c.req.header("last-event-id"),
      keepAliveMs: options.keepAliveMs ?? 15_000,
      maxLagBytes: limits.maxFeedLagBytes,
      signal: AbortSignal.any([c.req.raw.signal, stopping]),
    });
  };
}

async function readCall(
  c: ServerContext,
  route: Route,
  limits: ServerLimits,
  bodies: Admission,
  stopping: AbortSignal,
): Promise<{ refusal: Refusal } | { call: Record<string, unknown> }> {
  const call: Record<string, unknown> = { path: c.req.param() };
  if (route.query !== undefined) {
    const query = checkQuery(route.query, c.req.queries());
    if ("refusal" in query) return query;
    call["query"] = query.value;
  }
  if (route.body !== undefined) {
    const lease = bodies.open();
    try {
      const text = (await readBody(c, limits.maxBodyBytes, lease)).toString("utf8");
      const body = checkBody(route.body, text, route.bodyOptional === true);
      if ("refusal" in body) return body;
      call["body"] = body.value;
    } finally {
      lease.release();
    }
  }
  const wait = /(?:^|[,;\s])wait=(\d{1,6})\b/.exec(c.req.header("prefer") ?? "");
  if (wait !== null) call["waitSeconds"] = Number(wait[1]);
  // Made only where it is read: following the client's connection costs more than most calls.
  Object.defineProperty(call, "signal", { get: () => AbortSignal.any([c.req.raw.signal, stopping]) });
  return { call };
}

function send(c: ServerContext, refusal: Refusal): Response {
  for (const [name, value] of Object.entries(refusal.headers)) c.header(name, value);
  return c.json(refusal.body, refusal.status as ContentfulStatusCode);
}

/** 405 where the path is known with another method, else 404 in FastAPI's words, which tell clients it is no store's. */
function unknownRoute(c: ServerContext): Refusal {
  const methods = (Object.values(ROUTES) as Route[])
    .filter((route) => pathPattern(route.path).test(c.req.path))
    .map((route) => route.method);
  if (methods.length === 0) return refuse(404, "Not Found", "not_found");
  const refusal = refuse(405, "Method Not Allowed", "unsupported");
  return { ...refusal, headers: { allow: [...new Set(methods)].join(", ") } };
}

function honoPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}/?$`);
}
