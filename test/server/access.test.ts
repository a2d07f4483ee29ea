import { describe, expect, test } from "vitest";
import { isLoopback } from "../../src/server/access.ts";
import { openApp } from "./calling.ts";

const STATS = "/v1/agl/statistics";

describe("with a key", () => {
  test.each([
    ["a bearer", { authorization: "Bearer secret" }],
    ["a bearer in another case", { authorization: "bearer  secret" }],
    ["x-api-key", { "x-api-key": "secret" }],
  ])("%s opens", async (_, headers) => {
    const { get } = await openApp({ key: "secret" });
    expect((await get(STATS, headers)).status).toBe(200);
  });

  test.each([
    ["none", {}, "No key"],
    ["a wrong one", { authorization: "Bearer secre" }, "wrong"],
    ["a longer one", { authorization: "Bearer secretx" }, "wrong"],
    ["an empty one", { "x-api-key": "" }, "wrong"],
    ["another scheme", { authorization: "Basic secret" }, "No key"],
    [
      "a wrong bearer beside a right x-api-key",
      { authorization: "Bearer x", "x-api-key": "secret" },
      "wrong",
    ],
  ])("%s is 401", async (_, headers, reason) => {
    const { get } = await openApp({ key: "secret" });
    const answer = await get(STATS, headers as Record<string, string>);
    expect(answer).toMatchObject({
      status: 401,
      body: { code: "unauthorized", detail: expect.stringContaining(reason) },
    });
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
  });

  test("guards exports, the feed and unknown paths; health, document and root are open", async () => {
    const { get, post } = await openApp({ key: "secret" });
    for (const path of ["/v1/traces", "/v1/agl/queues/rollouts/dequeue", "/v1/metrics"]) {
      expect((await post(path)).status).toBe(401);
    }
    for (const path of ["/v1/agl/events", "/v1/agl/nothing", "/other"])
      expect((await get(path)).status).toBe(401);
    for (const path of ["/v1/agl/health", "/openapi.json", "/"]) expect((await get(path)).status).toBe(200);
  });

  test("any host name and origin will do", async () => {
    const { get } = await openApp({ key: "k" });
    const headers = { "x-api-key": "k", origin: "https://evil.example" };
    expect((await get(`http://store.internal:4747${STATS}`, headers)).status).toBe(200);
  });
});

describe("without a key", () => {
  test.each(["localhost", "127.0.0.1", "127.8.9.1", "[::1]", "app.localhost"])(
    "%s is answered",
    async (host) => {
      const { get } = await openApp();
      expect((await get(`http://${host}:4747${STATS}`)).status).toBe(200);
    },
  );

  test.each(["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1"])(
    "a name such as %s that may be bent to loopback is 403",
    async (host) => {
      const { get } = await openApp();
      expect(await get(`http://${host}:4747${STATS}`)).toMatchObject({
        status: 403,
        body: { code: "unauthorized" },
      });
    },
  );

  test.each([
    ["https://evil.example", 403],
    ["null", 403],
    ["http://localhost:3000", 200],
    ["https://allowed.example", 200],
  ])("a page of %s gets %d", async (origin, status) => {
    const { get } = await openApp({ corsOrigins: ["https://allowed.example"] });
    expect((await get(STATS, { origin })).status).toBe(status);
  });
});

test("loopback is told from what looks like it", () => {
  for (const name of ["localhost", "LOCALHOST", "127.0.0.1", "::1", "[::1]"])
    expect(isLoopback(name)).toBe(true);
  for (const name of ["0.0.0.0", "::", "127.0.0.1.x", "1127.0.0.1", "localhostx", ""]) {
    expect(isLoopback(name)).toBe(false);
  }
});

describe("CORS", () => {
  const preflight = (origin: string) => ({
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    },
  });

  test("is off unless origins are given", async () => {
    const { get, call } = await openApp({ key: "k" });
    const answer = await get(STATS, { "x-api-key": "k", origin: "https://a.example" });
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    expect(
      (await call(STATS, preflight("https://a.example"))).headers.get("access-control-allow-origin"),
    ).toBeNull();
  });

  test("lets the given origins in, preflight without a key, and marks refusals too", async () => {
    const { get, call } = await openApp({
      key: "k",
      corsOrigins: ["https://a.example", "https://b.example"],
    });
    const asked = await call(STATS, preflight("https://b.example"));
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe("https://b.example");
    expect(asked.headers.get("access-control-allow-headers")).toBe("authorization,content-type");
    expect(asked.headers.get("access-control-allow-credentials")).toBe("true");
    const refused = await get(STATS, { origin: "https://a.example" });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("access-control-allow-origin")).toBe("https://a.example");
    const other = await call(STATS, preflight("https://c.example"));
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("* lets all in, without credentials", async () => {
    const { get } = await openApp({ corsOrigins: ["*"] });
    const answer = await get(STATS, { origin: "https://any.example" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
  });
});
