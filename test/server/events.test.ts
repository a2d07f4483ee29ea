import { describe, expect, test } from "vitest";
import { createFeed, type FeedItem } from "../../src/server/feed.ts";
import type { StoreEvent } from "../../src/store/interface.ts";
import { openApp, wholeSpan } from "./calling.ts";

const EVENTS = "/v1/agl/events";

interface Message {
  id?: string;
  event?: string;
  data?: string;
  comment?: string;
}

/** Reads messages of an open feed, one at a time. */
function readerOf(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let text = "";
  return {
    /** The next message; undefined when the feed has ended. */
    async next(): Promise<Message | undefined> {
      while (!text.includes("\n\n")) {
        const { done, value } = await reader.read();
        if (done) return undefined;
        text += value;
      }
      const [block, ...rest] = text.split("\n\n") as [string, ...string[]];
      text = rest.join("\n\n");
      const message: Message = {};
      for (const line of block.split("\n")) {
        const [name, value] = line.split(/: (.*)/s) as [string, string];
        message[(name || "comment") as keyof Message] = value;
      }
      return message;
    },
    cancel: () => reader.cancel(),
  };
}

async function open(options: Parameters<typeof openApp>[0] = {}) {
  const app = await openApp(options);
  const feed = async (query = "", headers: Record<string, string> = {}) => {
    const response = await app.app.request(`${EVENTS}${query}`, { headers });
    expect(response.headers.get("content-type")).toMatch("text/event-stream");
    return readerOf(response);
  };
  return { ...app, feed };
}

test("tells what happens, as it happens", async () => {
  const { feed, store, post } = await open();
  const events = await feed();
  const position = await events.next();
  expect(position).toEqual({ id: expect.stringMatching(/^[0-9a-f]{8}-0$/) });
  const rollout = await store.startRollout({ input: { q: "line\nbreak" } });
  const attemptId = rollout.attempt.attempt_id;
  await post("/v1/agl/spans/batch", { spans: [wholeSpan(rollout.rollout_id, attemptId, "1", 1)] });
  const seen: StoreEvent[] = [];
  let last = 0;
  while (!seen.some((event) => event.type === "spans")) {
    const message = (await events.next()) as Required<Message>;
    const event = JSON.parse(message.data) as StoreEvent;
    expect(message.event).toBe(event.type);
    const number = Number(message.id.split("-")[1]);
    expect(number).toBe(last + 1);
    last = number;
    seen.push(event);
  }
  expect(seen.find((event) => event.type === "rollout")).toMatchObject({
    rollout: { rollout_id: rollout.rollout_id, input: { q: "line\nbreak" } },
  });
  expect(seen.at(-1)).toEqual({
    type: "spans",
    rollout_id: rollout.rollout_id,
    attempt_id: attemptId,
    count: 1,
  });
  await events.cancel();
});

test("a reader that comes back gets what it missed; one that was away too long is told so", async () => {
  const { feed, store } = await open({ limits: { feedHistory: 3 } });
  const first = await feed("?types=worker");
  const position = (await first.next())?.id as string;
  await store.updateWorker("w1");
  const seen = (await first.next())?.id as string;
  await first.cancel();
  await store.updateWorker("w2");
  const second = await feed("?types=worker", { "last-event-id": seen });
  expect(JSON.parse((await second.next())?.data as string).worker.worker_id).toBe("w2");
  await second.cancel();
  for (let i = 0; i < 20; i++) await store.updateWorker(`x${i}`);
  for (const stale of [position, "00000000-1", "nonsense", `${position.split("-")[0]}-999`]) {
    const third = await feed("", { "last-event-id": stale });
    expect(await third.next()).toEqual({ id: expect.any(String), event: "reset", data: "{}" });
    await third.cancel();
  }
});

test("filters by type and rollout", async () => {
  const { feed, store } = await open();
  const mine = await store.startRollout({ input: 1 });
  const other = await store.startRollout({ input: 2 });
  const events = await feed(`?types=attempt&types=rollout&rollout_id=${mine.rollout_id}`);
  await events.next();
  await store.updateWorker("w");
  await store.updateAttempt(other.rollout_id, "latest", { status: "running" });
  await store.updateAttempt(mine.rollout_id, "latest", { status: "running" });
  const event = JSON.parse((await events.next())?.data as string) as StoreEvent;
  expect("attempt" in event ? event.attempt.rollout_id : "rollout" in event && event.rollout.rollout_id).toBe(
    mine.rollout_id,
  );
  await events.cancel();
});

test("comments keep the connection open", async () => {
  const { feed } = await open({ keepAliveMs: 1 });
  const events = await feed();
  await events.next();
  expect(await events.next()).toEqual({ comment: "keep-alive" });
  await events.cancel();
});

test("ends when the server stops", async () => {
  const stop = new AbortController();
  const { feed } = await open({ stopping: stop.signal });
  const events = await feed();
  await events.next();
  stop.abort();
  expect(await events.next()).toBeUndefined();
});

test("a reader that lags too far behind is cut off", async () => {
  const { app, store } = await open({ limits: { maxFeedLagBytes: 2_000 } });
  const response = await app.request(`${EVENTS}?types=worker`);
  for (let i = 0; i < 100; i++) await store.updateWorker("w", { heartbeat_stats: { text: "x".repeat(200) } });
  const text = await response.text();
  expect(text.length).toBeGreaterThan(2_000);
  expect(text.length).toBeLessThan(4_000);
});

test("an unknown type is 422; a store elsewhere has no feed", async () => {
  const { get, store } = await open();
  expect((await get(`${EVENTS}?types=nothing`)).status).toBe(422);
  const { subscribe: _, ...remote } = store;
  const elsewhere = await openApp({ store: remote as never });
  expect((await elsewhere.get(EVENTS)).status).toBe(501);
});

describe("the feed", () => {
  function createSource() {
    const listeners = new Set<(event: StoreEvent) => void>();
    const emit = (count: number) => {
      for (const call of listeners) call({ type: "spans", rollout_id: "r", attempt_id: "a", count });
    };
    const subscribe = (listener: (event: StoreEvent) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    };
    return { listeners, emit, subscribe };
  }

  test("listens to the store from its first reader on, until it is stopped", () => {
    const source = createSource();
    const stop = new AbortController();
    const feed = createFeed(source, { history: 10, run: "run", signal: stop.signal });
    expect(source.listeners.size).toBe(0);
    feed.subscribe(() => {}).end();
    expect(source.listeners.size).toBe(1);
    stop.abort();
    expect(source.listeners.size).toBe(0);
  });

  test("knows exactly which positions it can still serve", () => {
    const source = createSource();
    const feed = createFeed(source, { history: 4, run: "run" });
    const seen: FeedItem[] = [];
    feed.subscribe((item) => seen.push(item));
    for (let i = 1; i <= 100; i++) source.emit(i);
    expect(seen.map((item) => item.id)).toEqual(Array.from({ length: 100 }, (_, i) => `run-${i + 1}`));
    const missedSince = (id: string) => feed.subscribe(() => {}, id).missed?.map((item) => item.id) ?? null;
    expect(missedSince("run-100")).toEqual([]);
    for (let back = 1; back <= 4; back++) {
      expect(missedSince(`run-${100 - back}`)).toEqual(seen.slice(-back).map((item) => item.id));
    }
    for (const gone of ["run-0", "run-50", "run-101", "other-99", "run-", "run-1.5", ""]) {
      expect(missedSince(gone)).toBeNull();
    }
  });
});
