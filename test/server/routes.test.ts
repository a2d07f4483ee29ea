import { describe, expect, test } from "vitest";
import { SCHEMAS } from "../../src/protocol/schemas.ts";
import { openApp, wholeSpan } from "./calling.ts";

const P = "/v1/agl";
const CONFIG = { timeout_seconds: null, unresponsive_seconds: null, max_attempts: 1, retry_condition: [] };

async function withRollout() {
  const app = await openApp();
  const started = (await app.post(`${P}/rollouts`, { input: { q: 1 }, worker_id: "w1" })).body;
  const rolloutId = started.rollout_id as string;
  const attemptId = started.attempt.attempt_id as string;
  return { ...app, rolloutId, attemptId, at: `${P}/rollouts/${rolloutId}` };
}

describe("rollouts", () => {
  test("health says ok", async () => {
    const { get } = await openApp();
    expect(await get(`${P}/health`)).toMatchObject({ status: 200, body: { status: "ok" } });
  });

  test("enqueue answers 201 with the rollouts in order, every key present", async () => {
    const { post } = await openApp();
    const { status, body } = await post(`${P}/queues/rollouts/enqueue`, {
      rollouts: [
        { input: { a: 1 } },
        { input: null, mode: "val", resources_id: "rs-1", config: { max_attempts: 3 }, metadata: { k: 1 } },
      ],
    });
    expect(status).toBe(201);
    expect(body).toEqual([
      {
        rollout_id: expect.stringMatching(/^ro-[0-9a-f]{12}$/),
        input: { a: 1 },
        start_time: expect.any(Number),
        end_time: null,
        mode: null,
        resources_id: null,
        status: "queuing",
        config: CONFIG,
        metadata: {},
      },
      {
        rollout_id: expect.any(String),
        input: null,
        start_time: expect.any(Number),
        end_time: null,
        mode: "val",
        resources_id: "rs-1",
        status: "queuing",
        config: { ...CONFIG, max_attempts: 3 },
        metadata: { k: 1 },
      },
    ]);
    expect(await post(`${P}/queues/rollouts/enqueue`, { rollouts: [] })).toMatchObject({
      status: 201,
      body: [],
    });
  });

  test.each([
    ["no body at all", undefined, 1],
    ["null", "null", 1],
    ["an empty object", {}, 1],
    ["a limit", { limit: 5, worker_id: "w" }, 2],
    ["a limit of 0", { limit: 0 }, 0],
    ["a negative limit", { limit: -3 }, 0],
  ])("dequeue takes %s", async (_, body, count) => {
    const { post } = await openApp();
    await post(`${P}/queues/rollouts/enqueue`, { rollouts: [{ input: 1 }, { input: 2 }] });
    const answer = await post(`${P}/queues/rollouts/dequeue`, body);
    expect(answer.status).toBe(200);
    expect(answer.body).toHaveLength(count);
    for (const each of answer.body) {
      expect(each).toMatchObject({ status: "preparing", attempt: { sequence_id: 1, status: "preparing" } });
    }
  });

  test("start answers 201 with the first attempt", async () => {
    const { post } = await openApp();
    const { status, body } = await post(`${P}/rollouts`, { input: 1, worker_id: "w1", mode: null });
    expect(status).toBe(201);
    expect(body).toMatchObject({ status: "preparing", attempt: { worker_id: "w1", sequence_id: 1 } });
  });

  test("get gives the rollout with its attempt; 404 at once for an unknown one", async () => {
    const { get, at, attemptId } = await withRollout();
    expect((await get(at)).body).toMatchObject({ attempt: { attempt_id: attemptId } });
    expect(await get(`${P}/rollouts/ro-unknown`)).toMatchObject({
      status: 404,
      body: { code: "not_found", detail: expect.stringContaining("ro-unknown") },
    });
  });

  test("ids may hold any character", async () => {
    const { get, post } = await openApp();
    await post(`${P}/workers/${encodeURIComponent("w/1 é?")}`);
    expect((await get(`${P}/workers/${encodeURIComponent("w/1 é?")}`)).body.worker_id).toBe("w/1 é?");
    expect((await get(`${P}/rollouts/__proto__`)).status).toBe(404);
  });

  test("update changes the keys that are present, answers without the attempt", async () => {
    const { post, at } = await withRollout();
    const { status, body } = await post(at, {
      metadata: null,
      mode: "test",
      input: null,
      config: { max_attempts: 4 },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      metadata: null,
      mode: "test",
      input: null,
      config: { ...CONFIG, max_attempts: 4 },
      status: "preparing",
    });
    expect(body).not.toHaveProperty("attempt");
    expect((await post(at, {})).body).toEqual(body);
  });

  test.each(["status", "config"])("update refuses null for %s with 400", async (name) => {
    const { post, at } = await withRollout();
    expect(await post(at, { [name]: null })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining(name) },
    });
  });

  test("query takes lists, sorts and pages; GET and search agree", async () => {
    const { get, post } = await openApp();
    const inputs = ["a", "b", "c"].map((input) => ({ input }));
    const made = (await post(`${P}/queues/rollouts/enqueue`, { rollouts: inputs })).body;
    const page = await get(`${P}/rollouts?sort_by=rollout_id&sort_order=desc&limit=1&offset=1`);
    const ids = made.map((each: { rollout_id: string }) => each.rollout_id).sort();
    expect(page.body).toMatchObject({ items: [{ rollout_id: ids[1] }], limit: 1, offset: 1, total: 3 });
    const search = { sort_by: "rollout_id", sort_order: "desc", limit: 1, offset: 1 };
    expect((await post(`${P}/rollouts/search`, search)).body).toEqual(page.body);
    const some = await get(`${P}/rollouts?rollout_id_in=${ids[0]}&rollout_id_in=${ids[2]}&status_in=queuing`);
    expect(some.body.total).toBe(2);
    expect((await get(`${P}/rollouts?status_in=running&status_in=failed`)).body).toEqual({
      items: [],
      limit: -1,
      offset: 0,
      total: 0,
    });
    const either = { status_in: ["failed"], rollout_id_contains: ids[0], filter_logic: "or" };
    expect((await post(`${P}/rollouts/search`, either)).body.total).toBe(1);
  });

  test("a page of many items is whole", async () => {
    const { get, post } = await openApp();
    const rollouts = Array.from({ length: 1_000 }, (_, input) => ({ input }));
    await post(`${P}/queues/rollouts/enqueue`, { rollouts });
    const { body, headers } = await get(`${P}/rollouts`);
    expect(body.items.map((each: { input: number }) => each.input)).toEqual(
      rollouts.map((each) => each.input),
    );
    expect(body).toMatchObject({ limit: -1, offset: 0, total: 1_000 });
    expect(headers.get("content-type")).toBe("application/json");
  });
});

describe("attempts", () => {
  test("another attempt by hand; attempts in order; the latest", async () => {
    const { get, post, at } = await withRollout();
    const second = await post(`${at}/attempts`);
    expect(second).toMatchObject({ status: 201, body: { attempt: { sequence_id: 2, worker_id: null } } });
    expect((await post(`${at}/attempts`, { worker_id: "w2" })).body.attempt.worker_id).toBe("w2");
    const list = await get(`${at}/attempts`);
    expect(list.body.items.map((each: { sequence_id: number }) => each.sequence_id)).toEqual([1, 2, 3]);
    const last = await post(`${at}/attempts/search`, { sort_order: "desc", limit: 1 });
    expect(last.body.items[0].sequence_id).toBe(3);
    expect((await get(`${at}/attempts/latest`)).body).toEqual(last.body.items[0]);
  });

  test("of an unknown rollout there are none, and none can be made", async () => {
    const { get, post } = await openApp();
    const at = `${P}/rollouts/ro-none`;
    expect((await get(`${at}/attempts`)).body).toEqual({ items: [], limit: -1, offset: 0, total: 0 });
    expect(await get(`${at}/attempts/latest`)).toMatchObject({ status: 200, body: null });
    expect((await post(`${at}/attempts`)).status).toBe(404);
    expect((await post(`${at}/attempts/latest`, { status: "running" })).status).toBe(404);
    expect((await post(at, { status: "failed" })).status).toBe(404);
  });

  test("update by id or as the latest", async () => {
    const { post, at, attemptId } = await withRollout();
    const running = await post(`${at}/attempts/${attemptId}`, {
      status: "running",
      worker_id: "w9",
      last_heartbeat_time: 12.5,
      metadata: { a: 1 },
    });
    expect(running).toMatchObject({
      status: 200,
      body: { status: "running", worker_id: "w9", last_heartbeat_time: 12.5, metadata: { a: 1 } },
    });
    expect((await post(`${at}/attempts/latest`, { status: "succeeded" })).body.status).toBe("succeeded");
  });

  test.each(["status", "worker_id", "last_heartbeat_time", "metadata"])(
    "update refuses null for %s with 400",
    async (name) => {
      const { post, at } = await withRollout();
      expect(await post(`${at}/attempts/latest`, { [name]: null })).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining(name) },
      });
    },
  );

  test("a change that the state forbids is 409", async () => {
    const { post, at, store, rolloutId } = await withRollout();
    await store.updateAttempt(rolloutId, "latest", { status: "succeeded" });
    expect(await post(`${at}/attempts/latest`, { status: "running" })).toMatchObject({
      status: 409,
      body: { code: "conflict" },
    });
  });
});

describe("waits", () => {
  test("gives what is finished, without attempts, unknown ids left out", async () => {
    const { post, store, rolloutId } = await withRollout();
    await store.updateAttempt(rolloutId, "latest", { status: "succeeded" });
    const { status, body } = await post(`${P}/waits/rollouts`, {
      rollout_ids: ["none", rolloutId],
      timeout: 0,
    });
    expect(status).toBe(200);
    expect(body).toHaveLength(1);
    expect(body[0]).toMatchObject({ rollout_id: rolloutId, status: "succeeded" });
    expect(body[0]).not.toHaveProperty("attempt");
  });

  test("waits as long as it is told, no 0.1 s limit", async () => {
    const { post, store, rolloutId } = await withRollout();
    const waiting = post(`${P}/waits/rollouts`, { rollout_ids: [rolloutId], timeout: 600 });
    await store.updateAttempt(rolloutId, "latest", { status: "failed" });
    expect((await waiting).body).toMatchObject([{ status: "failed" }]);
  });
});

describe("workers", () => {
  test("a heartbeat makes or renews a worker; unknown is null", async () => {
    const { get, post } = await openApp();
    expect(await get(`${P}/workers/w1`)).toMatchObject({ status: 200, body: null });
    expect((await post(`${P}/workers/w1`)).body).toEqual({
      worker_id: "w1",
      status: "unknown",
      heartbeat_stats: null,
      last_heartbeat_time: expect.any(Number),
      last_dequeue_time: null,
      last_busy_time: null,
      last_idle_time: null,
      current_rollout_id: null,
      current_attempt_id: null,
    });
    expect((await post(`${P}/workers/w1`, { heartbeat_stats: { cpu: 1 } })).body.heartbeat_stats).toEqual({
      cpu: 1,
    });
    expect((await post(`${P}/workers/w1`, {})).body.heartbeat_stats).toEqual({ cpu: 1 });
    expect((await post(`${P}/workers/w1`, { heartbeat_stats: null })).status).toBe(400);
  });

  test("query honours limit and offset", async () => {
    const { get, post } = await openApp();
    for (const id of ["w1", "w2", "w3"]) await post(`${P}/workers/${id}`);
    const page = await post(`${P}/workers/search`, { sort_by: "worker_id", limit: 1, offset: 1 });
    expect(page.body).toMatchObject({ items: [{ worker_id: "w2" }], limit: 1, offset: 1, total: 3 });
    expect((await get(`${P}/workers?worker_id_contains=3&status_in=unknown`)).body.total).toBe(1);
  });
});

describe("resources", () => {
  const prompt = { resource_type: "prompt_template", template: "{a}", engine: "f-string" };

  test("add, update, latest, by id, query", async () => {
    const { get, post } = await openApp();
    expect(await get(`${P}/resources/latest`)).toMatchObject({ status: 200, body: null });
    const llm = { resource_type: "llm", endpoint: "http://x", model: "m" };
    const added = await post(`${P}/resources`, { main: { ...llm, extra: 1 }, p: prompt });
    expect(added).toMatchObject({ status: 201, body: { version: 1 } });
    expect(added.body.resources).toEqual({
      main: { ...llm, api_key: null, sampling_parameters: {} },
      p: prompt,
    });
    const updated = await post(`${P}/resources/${added.body.resources_id}`, { p: prompt });
    expect(updated).toMatchObject({ status: 200, body: { version: 2, resources: { p: prompt } } });
    expect((await get(`${P}/resources/${added.body.resources_id}`)).body).toEqual(updated.body);
    expect((await get(`${P}/resources/latest`)).body).toEqual(updated.body);
    expect(await get(`${P}/resources/none`)).toMatchObject({ status: 200, body: null });
    expect((await get(`${P}/resources?resources_id_contains=rs-`)).body.total).toBe(1);
    expect((await get(`${P}/resources?resources_id=none`)).body.total).toBe(0);
  });

  test.each([
    ["no tag", { main: { endpoint: "http://x", model: "m" } }],
    ["an unknown tag", { main: { resource_type: "adapter" } }],
    ["a missing field", { main: { resource_type: "llm", model: "m" } }],
    ["an unknown engine", { main: { ...prompt, engine: "mustache" } }],
    ["a list", []],
    ["no object", { main: 1 }],
  ])("%s is 422 with the place", async (_, body) => {
    const { post } = await openApp();
    const answer = await post(`${P}/resources`, body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0].loc[0]).toBe("body");
  });
});

describe("spans", () => {
  test("one is stored as it was sent, its repeat is null", async () => {
    const { get, post, rolloutId, attemptId } = await withRollout();
    const span = { ...wholeSpan(rolloutId, attemptId, "a".repeat(16), 7), extra: { kept: true } };
    expect(await post(`${P}/spans`, span)).toMatchObject({ status: 201, body: span });
    expect(await post(`${P}/spans`, span)).toMatchObject({ status: 201, body: null });
    const query = `rollout_id=${rolloutId}&attempt_id=latest&name_contains=st`;
    expect((await get(`${P}/spans?${query}`)).body).toEqual({
      items: [span],
      limit: -1,
      offset: 0,
      total: 1,
    });
    const search = { rollout_id: rolloutId, name: "other", span_id: "a".repeat(16), filter_logic: "or" };
    expect((await post(`${P}/spans/search`, search)).body.items).toEqual([span]);
  });

  test("keys that may be null or empty may be missing; the store issues the sequence id", async () => {
    const { post, rolloutId, attemptId } = await withRollout();
    const ids = { rollout_id: rolloutId, attempt_id: attemptId, trace_id: "t", span_id: "s", name: "n" };
    expect((await post(`${P}/spans`, ids)).body).toEqual({
      ...ids,
      sequence_id: 1,
      parent_id: null,
      status: { status_code: "UNSET", description: null },
      attributes: {},
      events: [],
      links: [],
      start_time: null,
      end_time: null,
      context: null,
      parent: null,
      resource: { attributes: {}, schema_url: "" },
    });
  });

  test.each(["rollout_id", "attempt_id", "trace_id", "span_id", "name"])(
    "a missing %s is 422",
    async (name) => {
      const { post, rolloutId, attemptId } = await withRollout();
      const { [name]: _, ...span } = wholeSpan(rolloutId, attemptId, "s", 1) as Record<string, unknown>;
      const answer = await post(`${P}/spans`, span);
      expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", name] }] } });
    },
  );

  test("an unknown rollout or attempt is 404 and uses no sequence id up", async () => {
    const { post, rolloutId, attemptId } = await withRollout();
    expect((await post(`${P}/spans`, wholeSpan("ro-none", attemptId, "s", 1))).status).toBe(404);
    expect((await post(`${P}/spans`, wholeSpan(rolloutId, "at-none", "s", 50))).status).toBe(404);
    const next = await post(`${P}/spans/next`, { rollout_id: rolloutId, attempt_id: attemptId });
    expect(next).toMatchObject({ status: 200, body: { sequence_id: 1 } });
  });

  test("attributes that Python's model refuses are kept in a form that it takes", async () => {
    const { post, rolloutId, attemptId } = await withRollout();
    const attributes = { map: { a: [1] }, mixed: [1, "a"], none: null, empty: [], __proto__: 1 };
    const text = JSON.stringify({ ...wholeSpan(rolloutId, attemptId, "s", 1), attributes });
    const { body } = await post(`${P}/spans`, text.replace('"empty":[]', '"empty":[],"__proto__":{"x":1}'));
    expect(Object.entries(body.attributes)).toEqual([
      ["map", '{"a":[1]}'],
      ["mixed", '[1,"a"]'],
      ["empty", []],
      ["__proto__", '{"x":1}'],
    ]);
  });

  test("a batch tells of each span what became of it", async () => {
    const { post, rolloutId, attemptId } = await withRollout();
    const first = wholeSpan(rolloutId, attemptId, "1", 1);
    const spans = [
      first,
      first,
      wholeSpan("ro-none", attemptId, "2", 2),
      wholeSpan(rolloutId, attemptId, "3", 3),
    ];
    const { status, body } = await post(`${P}/spans/batch`, { spans });
    expect(status).toBe(200);
    expect(body).toEqual([
      { status: "stored", span: first },
      { status: "duplicate", span: first },
      { status: "rejected", reason: expect.stringContaining("ro-none") },
      { status: "stored", span: spans[3] },
    ]);
    expect(SCHEMAS.AddSpanResults.safeParse(body).success).toBe(true);
    expect((await post(`${P}/spans/batch`, { spans: [] })).body).toEqual([]);
  });
});

test("statistics count", async () => {
  const { get, rolloutId } = await withRollout();
  expect(rolloutId).toMatch(/^ro-/);
  expect((await get(`${P}/statistics`)).body).toMatchObject({
    total_rollouts: 1,
    total_attempts: 1,
    total_spans: 0,
  });
});
