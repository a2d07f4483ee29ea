import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { AglError } from "../../src/errors.ts";
import { createLogger } from "../../src/server/log.ts";
import { type ServeOptions, type StoreServer, serveStore } from "../../src/server/serve.ts";
import type { LocalStore } from "../../src/store/interface.ts";
import { openMemoryStore } from "../../src/store/memory-store.ts";

const opened: StoreServer[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

async function serve(options: Partial<ServeOptions> = {}) {
  const store = (options.store as LocalStore | undefined) ?? (await openMemoryStore());
  const server = await serveStore({ port: 0, stopTimeoutMs: 5_000, ...options, store });
  opened.push(server);
  const post = (path: string, body: unknown, init: RequestInit = {}) =>
    fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      ...init,
    });
  return { server, store, post, get: (path: string) => fetch(`${server.url}${path}`) };
}

/** A promise and what settles it. */
function gate<T = void>() {
  let open = (_: T) => {};
  const passed = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

/** A bare connection, to misbehave on. */
async function dial(server: StoreServer) {
  const socket: Socket = connect(server.port, "127.0.0.1");
  await once(socket, "connect");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {});
  const closed = once(socket, "close").then(() => text);
  return { socket, closed, received: () => text };
}

async function statusOf(connection: Awaited<ReturnType<typeof dial>>): Promise<string> {
  while (!connection.received().includes("\r\n\r\n")) await once(connection.socket, "data");
  return connection.received().split("\r\n")[0] as string;
}

describe("listening", () => {
  test("on a free port, until closed; the store is closed then", async () => {
    const { server, store, get } = await serve();
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect(await (await get("/v1/agl/health")).json()).toEqual({ status: "ok" });
    await Promise.all([server.close(), server.close()]);
    await expect(get("/v1/agl/health")).rejects.toThrow();
    await expect(store.statistics()).rejects.toMatchObject({ code: "closed" });
  });

  test("a port in use is told so, and the store stays open", async () => {
    const { server } = await serve();
    const store = await openMemoryStore();
    const failure = await serveStore({ store, port: server.port }).catch((error: unknown) => error);
    expect(AglError.is(failure) && failure.code).toBe("unavailable");
    expect(String(failure)).toContain(`port ${server.port}: Another program listens there`);
    expect((await store.statistics()).total_rollouts).toBe(0);
    await store.close();
  });

  test.each(["0.0.0.0", "::", "192.168.0.1", "store.example"])(
    "on %s without a key is refused",
    async (host) => {
      const store = await openMemoryStore();
      await expect(serveStore({ store, host, port: 0 })).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining(`${host} without a key`),
      });
      await store.close();
    },
  );

  test("on all addresses with a key", async () => {
    const { server } = await serve({ host: "0.0.0.0", key: "k" });
    expect(server.url).toBe(`http://localhost:${server.port}`);
    const answer = await fetch(`http://127.0.0.1:${server.port}/v1/agl/statistics`, {
      headers: { "x-api-key": "k" },
    });
    expect(answer.status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${server.port}/v1/agl/statistics`)).status).toBe(401);
  });

  test("an empty key is no key", async () => {
    const store = await openMemoryStore();
    await expect(serveStore({ store, key: "", port: 0 })).rejects.toMatchObject({ code: "invalid_argument" });
    await store.close();
  });

  test("leaves the process's Request and Response alone", async () => {
    const before = [globalThis.Request, globalThis.Response];
    await serve();
    expect([globalThis.Request, globalThis.Response]).toEqual(before);
  });

  test("a name that is bent to loopback is refused on the wire", async () => {
    const { server } = await serve();
    const connection = await dial(server);
    connection.socket.write("GET /v1/agl/statistics HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    expect(await statusOf(connection)).toContain("403");
    connection.socket.destroy();
  });

  test("overdue attempts end though nobody calls", async () => {
    const store = await openMemoryStore();
    const looked = gate();
    store.checkTimeouts = async () => {
      looked.open();
      return 0;
    };
    await serve({ store, watchdogSeconds: 0.001 });
    await looked.passed;
  });

  test("requests are logged as JSON lines", async () => {
    const lines: string[] = [];
    const logger = createLogger({ level: "debug", write: (line) => void lines.push(line), now: () => 0 });
    let now = 0;
    const { server, get } = await serve({ logger, clock: () => (now += 7) });
    await (await get("/v1/agl/rollouts/none")).text();
    await server.close();
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { time: "1970-01-01T00:00:00.000Z", level: "info", message: "Listening", url: server.url, key: false },
      {
        time: "1970-01-01T00:00:00.000Z",
        level: "debug",
        message: "request",
        method: "GET",
        path: "/v1/agl/rollouts/none",
        status: 404,
        ms: 7,
      },
      { time: "1970-01-01T00:00:00.000Z", level: "info", message: "Stopping" },
      { time: "1970-01-01T00:00:00.000Z", level: "info", message: "Stopped" },
    ]);
  });
});

describe("long polls", () => {
  test("end with the rollout", async () => {
    const { store, post } = await serve();
    const rollout = await store.startRollout({ input: 1 });
    const entered = gate();
    const wait = store.waitForRollouts.bind(store);
    store.waitForRollouts = (...call) => {
      entered.open();
      return wait(...call);
    };
    const waiting = post("/v1/agl/waits/rollouts", { rollout_ids: [rollout.rollout_id], timeout: 3_600 });
    await entered.passed;
    await store.updateAttempt(rollout.rollout_id, "latest", { status: "succeeded" });
    expect(await (await waiting).json()).toMatchObject([{ status: "succeeded" }]);
  });

  test("end when the client goes away", async () => {
    const { store, post } = await serve();
    const entered = gate<AbortSignal>();
    const wait = store.waitForRollouts.bind(store);
    store.waitForRollouts = (ids, options) => {
      entered.open(options?.signal as AbortSignal);
      return wait(ids, options);
    };
    const rollout = await store.startRollout({ input: 1 });
    const client = new AbortController();
    const waiting = post(
      "/v1/agl/waits/rollouts",
      { rollout_ids: [rollout.rollout_id] },
      { signal: client.signal },
    );
    const signal = await entered.passed;
    expect(signal.aborted).toBe(false);
    client.abort();
    await expect(waiting).rejects.toThrow();
    if (!signal.aborted) await once(signal, "abort");
  });
});

describe("stopping", () => {
  test("ends long polls with 503 and feeds, finishes what is in flight, then closes the store", async () => {
    const { server, store, post, get } = await serve();
    const order: string[] = [];
    const close = store.close.bind(store);
    store.close = () => {
      order.push("store closed");
      return close();
    };
    const rollout = await store.startRollout({ input: 1 });
    const polled = gate();
    const wait = store.waitForRollouts.bind(store);
    store.waitForRollouts = (...call) => {
      polled.open();
      return wait(...call);
    };
    const asked = gate();
    const go = gate();
    const statistics = store.statistics.bind(store);
    store.statistics = async () => {
      asked.open();
      await go.passed;
      const result = await statistics();
      order.push("in flight done");
      return result;
    };
    const poll = post("/v1/agl/waits/rollouts", { rollout_ids: [rollout.rollout_id] });
    const feed = await get("/v1/agl/events");
    const inFlight = get("/v1/agl/statistics").then((answer) => answer.json());
    await Promise.all([polled.passed, asked.passed]);
    const closing = server.close();
    const refused = await poll;
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await feed.text()).toMatch(/^id: /);
    await expect(get("/v1/agl/health")).rejects.toThrow();
    expect(order).toEqual([]);
    go.open();
    expect(await inFlight).toMatchObject({ total_rollouts: 1 });
    await closing;
    expect(order).toEqual(["in flight done", "store closed"]);
  });

  test("does not wait for connections that are kept alive or were never used", async () => {
    const { server } = await serve({ stopTimeoutMs: 50_000 });
    const unused = await dial(server);
    const connection = await dial(server);
    connection.socket.write("GET /v1/agl/health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(await statusOf(connection)).toContain("200");
    await server.close();
    await connection.closed;
    expect(await unused.closed).toBe("");
  });

  test("cuts off what does not end in time", async () => {
    const { server, store, get } = await serve({ stopTimeoutMs: 20 });
    const asked = gate();
    store.statistics = () => {
      asked.open();
      return new Promise(() => {});
    };
    const stuck = get("/v1/agl/statistics");
    stuck.catch(() => {});
    await asked.passed;
    await server.close();
    await expect(stuck).rejects.toThrow();
  });
});

describe("clients that misbehave", () => {
  const head = (length: number | "chunked", type = "application/json") =>
    `POST /v1/agl/rollouts HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\n${
      length === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`
    }\r\n\r\n`;

  test("a body that never ends is cut off, others are served meanwhile", async () => {
    const { server, get } = await serve({ limits: { requestTimeoutMs: 400 } });
    const connection = await dial(server);
    connection.socket.write(`${head(100)}{"input"`);
    expect((await get("/v1/agl/health")).status).toBe(200);
    expect(await connection.closed).toContain("408");
  });

  test("a body declared too large is refused unread", async () => {
    const { server } = await serve({ limits: { maxBodyBytes: 1_000 } });
    const connection = await dial(server);
    connection.socket.write(head(5_000_000_000));
    expect(await statusOf(connection)).toContain("413");
    connection.socket.destroy();
  });

  test("a body in chunks is refused when it grows too large", async () => {
    const { server, get } = await serve({ limits: { maxBodyBytes: 1_000 } });
    const connection = await dial(server);
    connection.socket.write(head("chunked"));
    for (let i = 0; i < 3; i++) connection.socket.write(`1f4\r\n${"x".repeat(500)}\r\n`);
    expect(await statusOf(connection)).toContain("413");
    connection.socket.destroy();
    expect((await get("/v1/agl/health")).status).toBe(200);
  });

  test("one that goes away in the middle gives its bytes back", async () => {
    const { server, post } = await serve({ limits: { maxBufferedBytes: 1_000 } });
    const connection = await dial(server);
    connection.socket.write(`${head(950)}{"input":"${"x".repeat(890)}`);
    const body = { input: "y".repeat(500) };
    while ((await post("/v1/agl/rollouts", body)).status !== 503);
    connection.socket.destroy();
    while ((await post("/v1/agl/rollouts", body)).status !== 201);
  });

  test("what is no HTTP is 400, and the server lives on", async () => {
    const { server, get } = await serve();
    const connection = await dial(server);
    connection.socket.write("\u0016\u0003\u0001\r\n\r\n");
    expect(await connection.closed).toContain("400");
    expect((await get("/v1/agl/health")).status).toBe(200);
  });

  test("a reader of a long page that goes away harms nobody", async () => {
    const { server, store, get } = await serve();
    await store.enqueueRollouts(Array.from({ length: 3_000 }, () => ({ input: "x".repeat(2_000) })));
    const connection = await dial(server);
    connection.socket.write("GET /v1/agl/rollouts HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(await statusOf(connection)).toContain("200");
    connection.socket.destroy();
    const page = (await (await get("/v1/agl/rollouts")).json()) as { items: unknown[] };
    expect(page.items).toHaveLength(3_000);
  });
});
