/**
 * The Python HTTP client against our server, with both stores: every method, and the types that it checks. The Python
 * server goes through the same tests: what they expect is what it does.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Json } from "../../src/protocol/json.ts";
import type { ResourcesUpdate } from "../../src/protocol/resources.ts";
import type { Attempt, AttemptedRollout, Page, Rollout, Worker } from "../../src/protocol/rollout.ts";
import type { Span } from "../../src/protocol/span.ts";
import { PythonError, python } from "./python-package.ts";
import { ALL_SERVERS, PYTHON_SERVER, type ServedStore } from "./served-stores.ts";

describe.each(Object.entries(ALL_SERVERS))("%s", (name, open) => {
  let server: ServedStore;
  /** Methods that a test has called: all there are, in the end. */
  const called = new Set<string>();

  beforeAll(async () => {
    server = await open();
  });
  afterAll(() => server.close());

  function call<T = Json>(method: string, args: object = {}): Promise<T> {
    called.add(method);
    return python.client<T>(server.url, method, args);
  }

  it("queues rollouts", async () => {
    const config = {
      timeout_seconds: 90,
      unresponsive_seconds: 30.5,
      max_attempts: 2,
      retry_condition: ["failed", "timeout"],
    };
    const one = await call<Rollout>("enqueue_rollout", {
      input: { q: "1 + 1" },
      mode: "train",
      config,
      metadata: { set: 1 },
    });
    expect(one).toMatchObject({
      status: "queuing",
      input: { q: "1 + 1" },
      mode: "train",
      config,
      metadata: { set: 1 },
      end_time: null,
      resources_id: null,
    });
    const more = await call<Rollout[]>("enqueue_many_rollouts", {
      rollouts: [{ input: "a", mode: "val" }, { input: [1, null] }, { input: null }],
    });
    expect(more.map((rollout) => [rollout.input, rollout.mode])).toEqual([
      ["a", "val"],
      [[1, null], null],
      [null, null],
    ]);
    const defaults = {
      timeout_seconds: null,
      unresponsive_seconds: null,
      max_attempts: 1,
      retry_condition: [],
    };
    expect(more[0]?.config).toEqual(defaults);

    const first = await call<AttemptedRollout>("dequeue_rollout", { worker_id: "py-1" });
    expect(first).toMatchObject({
      rollout_id: one.rollout_id,
      status: "preparing",
      attempt: { sequence_id: 1, status: "preparing", worker_id: "py-1" },
    });
    const rest = await call<AttemptedRollout[]>("dequeue_many_rollouts", { limit: 10, worker_id: "py-2" });
    expect(rest.map((rollout) => rollout.rollout_id)).toEqual(more.map((rollout) => rollout.rollout_id));
    expect(await call("dequeue_rollout")).toBeNull();
    expect(await call("dequeue_many_rollouts", { limit: 0 })).toEqual([]);

    const attempt = { rollout_id: one.rollout_id, attempt_id: first.attempt.attempt_id };
    expect(
      await call<Attempt>("update_attempt", {
        ...attempt,
        status: "running",
        last_heartbeat_time: first.start_time + 5,
        metadata: { node: 1 },
      }),
    ).toMatchObject({ status: "running", last_heartbeat_time: first.start_time + 5, metadata: { node: 1 } });
    await call("update_attempt", { ...attempt, status: "failed" });
    expect(await call("get_rollout_by_id", { rollout_id: one.rollout_id })).toMatchObject({
      status: "requeuing",
    });
    const again = await call<AttemptedRollout>("dequeue_rollout");
    expect(again).toMatchObject({ rollout_id: one.rollout_id, attempt: { sequence_id: 2 } });
    await call("update_attempt", { rollout_id: one.rollout_id, attempt_id: "latest", status: "succeeded" });
    expect(await call("get_rollout_by_id", { rollout_id: one.rollout_id })).toMatchObject({
      status: "succeeded",
      end_time: expect.any(Number),
      attempt: { sequence_id: 2, status: "succeeded" },
    });
    expect(await call("get_latest_attempt", { rollout_id: one.rollout_id })).toMatchObject({
      sequence_id: 2,
    });
    expect(
      await call<Page<Attempt>>("query_attempts", {
        rollout_id: one.rollout_id,
        sort_order: "desc",
        limit: 1,
      }),
    ).toMatchObject({ total: 2, limit: 1, offset: 0, items: [{ sequence_id: 2 }] });

    const other = more[0]?.rollout_id ?? "";
    expect(
      await call("update_rollout", {
        rollout_id: other,
        status: "cancelled",
        metadata: null,
        mode: "test",
        input: { new: true },
        resources_id: null,
        config: { max_attempts: 3 },
      }),
    ).toMatchObject({
      status: "cancelled",
      metadata: null,
      mode: "test",
      input: { new: true },
      config: { ...defaults, max_attempts: 3 },
    });
    const page = await call<Page<AttemptedRollout>>("query_rollouts", {
      status_in: ["succeeded", "cancelled"],
      sort_by: "start_time",
      sort_order: "desc",
    });
    expect([page.total, page.items.length]).toEqual([2, 2]);
    expect(page.items.every((rollout) => rollout.attempt !== undefined)).toBe(true);
    expect(
      await call("query_rollouts", {
        rollout_id_in: [other, "x"],
        rollout_id_contains: one.rollout_id,
        filter_logic: "or",
        limit: 1,
        offset: 1,
      }),
    ).toMatchObject({ total: 2, limit: 1, offset: 1, items: [{}] });
    expect(
      await call("wait_for_rollouts", {
        rollout_ids: ["ro-x", other, more[1]?.rollout_id, one.rollout_id],
        timeout: 0.05,
      }),
    ).toMatchObject([{ rollout_id: other }, { rollout_id: one.rollout_id }]);
  });

  it("starts rollouts and attempts", async () => {
    const started = await call<AttemptedRollout>("start_rollout", {
      input: 7,
      mode: "test",
      metadata: { a: [1] },
      worker_id: "py-3",
    });
    expect(started).toMatchObject({
      input: 7,
      status: "preparing",
      attempt: { sequence_id: 1, worker_id: "py-3" },
    });
    expect(await call("start_attempt", { rollout_id: started.rollout_id })).toMatchObject({
      attempt: { sequence_id: 2, worker_id: null },
    });
    expect(await call("start_attempt", { rollout_id: started.rollout_id, worker_id: "py-4" })).toMatchObject({
      attempt: { sequence_id: 3, worker_id: "py-4" },
    });
  });

  it("stores spans", async () => {
    const { rollout_id, attempt } = await call<AttemptedRollout>("start_rollout", { input: 1 });
    const { attempt_id } = attempt;
    const ids = { rollout_id, attempt_id };
    expect(await call("get_next_span_sequence_id", ids)).toBe(1);
    expect(
      await call("get_many_span_sequence_ids", {
        rollout_attempt_ids: [
          [rollout_id, attempt_id],
          [rollout_id, attempt_id],
        ],
      }),
    ).toEqual([2, 3]);
    const span: Span = {
      ...ids,
      sequence_id: 9,
      trace_id: "ab".repeat(16),
      span_id: "cd".repeat(8),
      parent_id: null,
      name: "openai.chat.completion",
      status: { status_code: "ERROR", description: "no" },
      attributes: { text: "héllo 🌍", count: 3, ratio: 0.5, ok: false, ids: [1, 2], words: ["a"], none: [] },
      events: [{ name: "note", attributes: { n: 1 }, timestamp: 1_700_000_000.25 }],
      links: [
        {
          context: {
            trace_id: "ef".repeat(16),
            span_id: "12".repeat(8),
            is_remote: true,
            trace_state: { a: "b" },
          },
          attributes: { k: "v" },
        },
      ],
      start_time: 1_700_000_000.125,
      end_time: null,
      context: { trace_id: "ab".repeat(16), span_id: "cd".repeat(8), is_remote: false, trace_state: {} },
      parent: null,
      resource: { attributes: { "service.name": "t" }, schema_url: "" },
    };
    expect(await call("add_span", { span })).toEqual(span);
    expect(await call("add_span", { span: { ...span, name: "second" } })).toBeNull();
    const children = [1, 2, 3].map((n) => ({
      ...span,
      sequence_id: 9 + n,
      span_id: `${n}`.repeat(16),
      parent_id: span.span_id,
      name: `child ${n}`,
    }));
    expect(await call("add_many_spans", { spans: [...children, children[0]] })).toEqual(children);
    expect(await call("query_spans", { rollout_id })).toMatchObject({ total: 4, items: [span, ...children] });
    expect(
      await call("query_spans", {
        rollout_id,
        attempt_id: "latest",
        name_contains: "child",
        sort_by: "sequence_id",
        sort_order: "desc",
        limit: 1,
        offset: 1,
      }),
    ).toMatchObject({ total: 3, items: [children[1]] });
    expect(
      await call("query_spans", {
        rollout_id,
        attempt_id,
        name: "child 1",
        span_id_contains: "2222",
        filter_logic: "or",
      }),
    ).toMatchObject({ total: 2 });
    expect(
      await call("query_spans", {
        rollout_id,
        trace_id: span.trace_id,
        parent_id: span.span_id,
        parent_id_contains: "cd",
        trace_id_contains: "ab",
        span_id: children[2]?.span_id,
      }),
    ).toMatchObject({ total: 1 });
    expect(await call("query_spans", { rollout_id, attempt_id: "at-x" })).toMatchObject({
      total: 0,
      items: [],
    });
    expect(await call("get_next_span_sequence_id", ids)).toBe(13);
    expect(await call("get_rollout_by_id", { rollout_id })).toMatchObject({
      status: "running",
      attempt: { status: "running" },
    });
  });

  it("keeps resources and workers", async () => {
    expect(await call("get_latest_resources")).toBeNull();
    const llm = {
      resource_type: "llm",
      endpoint: "http://m/v1",
      model: "toy",
      api_key: "k",
      sampling_parameters: { temperature: 0.5 },
    };
    const proxy = { ...llm, resource_type: "proxy_llm", api_key: null };
    const prompt = { resource_type: "prompt_template", template: "Say {x}", engine: "f-string" };
    const added = await call<ResourcesUpdate>("add_resources", { resources: { main_llm: llm, proxy } });
    expect(added).toMatchObject({ version: 1, resources: { main_llm: llm, proxy } });
    expect(
      await call("update_resources", { resources_id: added.resources_id, resources: { prompt } }),
    ).toMatchObject({ version: 2, create_time: added.create_time, resources: { prompt } });
    expect(await call("get_resources_by_id", { resources_id: added.resources_id })).toMatchObject({
      version: 2,
    });
    const mine = await call<ResourcesUpdate>("update_resources", {
      resources_id: "rs-mine",
      resources: { prompt },
    });
    expect(await call("get_latest_resources")).toEqual(mine);
    expect(
      await call("query_resources", {
        resources_id_contains: "mine",
        sort_by: "update_time",
        limit: 2,
        offset: 0,
      }),
    ).toMatchObject({ total: 1, items: [mine] });
    expect(await call("query_resources", { resources_id: added.resources_id })).toMatchObject({ total: 1 });
    expect(await call("enqueue_rollout", { input: 1 })).toMatchObject({ resources_id: "rs-mine" });
    expect(await call("enqueue_rollout", { input: 1, resources_id: added.resources_id })).toMatchObject({
      resources_id: added.resources_id,
    });

    expect(
      await call<Worker>("update_worker", { worker_id: "py-9", heartbeat_stats: { cpu: { pct: 1.5 } } }),
    ).toMatchObject({
      worker_id: "py-9",
      status: "unknown",
      heartbeat_stats: { cpu: { pct: 1.5 } },
      last_heartbeat_time: expect.any(Number),
    });
    expect(await call("get_worker_by_id", { worker_id: "py-9" })).toMatchObject({ worker_id: "py-9" });
    expect(await call("get_worker_by_id", { worker_id: "nobody" })).toBeNull();
    expect(
      await call("query_workers", { worker_id_contains: "py-", sort_by: "worker_id", sort_order: "desc" }),
    ).toMatchObject({ total: 5, items: [{ worker_id: "py-9" }, {}, {}, {}, {}] });
    const busy = await call<Page<Worker>>("query_workers", { status_in: ["busy"], sort_by: "worker_id" });
    expect(busy.items.map((worker) => worker.worker_id)).toEqual(["py-2", "py-3", "py-4"]);
    for (const worker of busy.items) {
      expect(worker).toMatchObject({
        current_rollout_id: expect.stringMatching(/^ro-/),
        current_attempt_id: expect.stringMatching(/^at-/),
      });
    }
    expect(await call("statistics")).toMatchObject({
      total_rollouts: 8,
      total_attempts: 9,
      total_spans: 4,
      total_resources: 2,
      total_workers: 5,
    });
  });

  it("answers null for what is unknown, and a final 4xx for what is wrong", async () => {
    // The Python server says 500 to some of it, with a traceback, and its client tries again four times.
    const wrong =
      name === PYTHON_SERVER ? /^ClientResponseError: (400|422|500),/ : /^ClientResponseError: 4\d\d,/;
    expect(await call("get_rollout_by_id", { rollout_id: "ro-x" })).toBeNull();
    expect(await call("get_latest_attempt", { rollout_id: "ro-x" })).toBeNull();
    expect(await call("get_resources_by_id", { resources_id: "rs-x" })).toBeNull();
    expect(await call("query_attempts", { rollout_id: "ro-x" })).toMatchObject({ items: [], total: 0 });
    expect(await call("query_spans", { rollout_id: "ro-x" })).toMatchObject({ items: [], total: 0 });
    expect(await call("wait_for_rollouts", { rollout_ids: ["ro-x"], timeout: 0 })).toEqual([]);
    for (const [method, args] of [
      ["update_rollout", { rollout_id: "ro-x", status: "cancelled" }],
      ["start_attempt", { rollout_id: "ro-x" }],
      ["update_attempt", { rollout_id: "ro-x", attempt_id: "latest", status: "failed" }],
      ["query_rollouts", { sort_by: "colour" }],
      ["query_rollouts", { limit: 0 }],
    ] as const) {
      const error = await call(method, args).catch((thrown: unknown) => thrown);
      expect(error, method).toBeInstanceOf(PythonError);
      expect((error as PythonError).type).toBe("ClientResponseError");
      expect((error as PythonError).message).toMatch(wrong);
    }
  });

  it("was called through every method of the client", async () => {
    // `add_otel_span` takes an object of the OpenTelemetry SDK, and is no more than `add_span`.
    const all = (await python.clientMethods()).filter((name) => name !== "add_otel_span");
    expect([...called].sort()).toEqual(all);
  });
});
