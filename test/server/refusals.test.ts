import { describe, expect, test } from "vitest";
import { AglError } from "../../src/errors.ts";
import { ROUTES, type Route } from "../../src/protocol/routes.ts";
import { openMemoryStore } from "../../src/store/memory-store.ts";
import { openApp } from "./calling.ts";

const P = "/v1/agl";

describe("requests that do not fit", () => {
  test.each([
    ["sort_by", "sort_by=nothing"],
    ["limit", "limit=0"],
    ["limit", "limit=-2"],
    ["offset", "offset=-1"],
  ])("%s out of range is 400 on every query (%s)", async (name, query) => {
    const { get, post } = await openApp();
    const value = new URLSearchParams(query);
    const entries = [...value].map(([key, text]) => [key, /^-?\d+$/.test(text) ? Number(text) : text]);
    const body = Object.fromEntries(entries);
    const answers = [
      await get(`${P}/rollouts?${query}`),
      await get(`${P}/rollouts/r/attempts?${query}`),
      await get(`${P}/workers?${query}`),
      await get(`${P}/resources?${query}`),
      await get(`${P}/spans?rollout_id=r&${query}`),
      await post(`${P}/rollouts/search`, body),
      await post(`${P}/rollouts/r/attempts/search`, body),
      await post(`${P}/workers/search`, body),
      await post(`${P}/spans/search`, { rollout_id: "r", ...body }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(name) } });
    }
  });

  test.each(["sort_order=up", "filter_logic=xor", "limit=abc", "limit=", "offset=1.5", "status_in=bad"])(
    "?%s is 422 with the place",
    async (query) => {
      const { get } = await openApp();
      const answer = await get(`${P}/rollouts?${query}`);
      expect(answer.status).toBe(422);
      expect(answer.body.detail[0].loc.slice(0, 2)).toEqual(["query", query.split("=")[0]]);
    },
  );

  test("every route with a body refuses what is no JSON, nothing, or another kind", async () => {
    const { post } = await openApp();
    for (const route of Object.values(ROUTES) as Route[]) {
      if (route.body === undefined) continue;
      const path = route.path.replace(/\{\w+\}/g, "x");
      for (const body of ["{bad", '"text"', "[1]", "\u0000"]) {
        const answer = await post(path, body);
        expect(answer.status, `${path} ${body}`).toBe(422);
        expect(answer.body.detail[0].loc[0]).toBe("body");
      }
      if (route.bodyOptional === undefined) expect((await post(path)).status, path).toBe(422);
    }
  });

  test("unknown paths are 404, known paths with another method 405 with what is allowed", async () => {
    const { call } = await openApp();
    expect(await call(`${P}/nothing`)).toMatchObject({ status: 404, body: { detail: "Not Found" } });
    expect(await call("/elsewhere")).toMatchObject({ status: 404 });
    const wrong = await call(`${P}/rollouts/ro-1`, { method: "DELETE" });
    expect(wrong).toMatchObject({ status: 405, body: { code: "unsupported" } });
    expect(wrong.headers.get("allow")).toBe("GET, POST");
    expect((await call(`${P}/statistics`, { method: "POST" })).headers.get("allow")).toBe("GET");
  });

  test.each(["metrics", "logs", "development/profiles"])("/v1/%s is 501", async (signal) => {
    const { post } = await openApp();
    expect((await post(`/v1/${signal}`, {})).status).toBe(501);
  });
});

test("the root names the server", async () => {
  const { get } = await openApp();
  expect((await get("/")).body).toMatchObject({ name: "agentlightning", openapi: "/openapi.json" });
});

test("errors of the store have their status; a fault inside says nothing of itself and is logged", async () => {
  const store = await openMemoryStore();
  const logged: unknown[] = [];
  const quiet = () => {};
  const logger = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (...line: unknown[]) => void logged.push(line),
  };
  const { get } = await openApp({ store, logger });
  const codes = [
    ["invalid_argument", 422],
    ["not_found", 404],
    ["conflict", 409],
    ["payload_too_large", 413],
    ["unsupported", 501],
    ["unavailable", 503],
    ["timeout", 503],
    ["closed", 503],
  ] as const;
  for (const [code, status] of codes) {
    store.statistics = () => Promise.reject(new AglError(code, `about ${code}`));
    const answer = await get(`${P}/statistics`);
    expect(answer).toMatchObject({ status, body: { code, detail: `about ${code}` } });
    expect(answer.headers.get("retry-after")).toBe(status === 503 ? "1" : null);
  }
  expect(logged).toEqual([]);
  store.statistics = () => Promise.reject(new TypeError("secret /path"));
  const fault = await get(`${P}/statistics`);
  expect(fault.status).toBe(500);
  expect(fault.body).toEqual({ detail: "Internal server error", code: "internal" });
  expect(logged).toEqual([
    ["A request failed", { error: expect.stringContaining("TypeError: secret /path") }],
  ]);
});
