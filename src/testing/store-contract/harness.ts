/**
 * What the parts of the store contract share: how a store is opened, and the test library that is handed in.
 *
 * @module
 */
import { AglError, type AglErrorCode } from "../../errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Attempt, AttemptedRollout, EnqueueRolloutRequest, Rollout } from "../../protocol/rollout.ts";
import type { LightningStore, SpanInput } from "../../store/interface.ts";

/** The part of an assertion that the contract uses. */
export interface ContractMatchers {
  toBe(expected: unknown): void;
  toEqual(expected: unknown): void;
  toMatchObject(expected: object): void;
}

/** The functions of the test library (vitest, jest, node:test with an expect). */
export interface ContractApi {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: () => Promise<void>): unknown;
  expect(value: unknown): ContractMatchers;
}

/** Time that the test moves. */
export interface ContractClock {
  advance(seconds: number): void;
}

/** An empty store for one test. */
export interface OpenedStore {
  store: LightningStore;
  /** Undefined where the store's time cannot be set. */
  clock: ContractClock | undefined;
  close(): Promise<void>;
}

/** Opens an empty store. */
export type OpenStore = () => Promise<OpenedStore>;

/** What a test works with. */
export interface TestContext {
  store: LightningStore;
  /** Moves the time; only in tests made by {@link ContractTests.timed}. */
  advance(seconds: number): void;
}

/** Ways to define a test of the contract. */
export interface ContractTests {
  test(name: string, body: (context: TestContext) => Promise<void>): void;
  /** A test that moves the time. */
  timed(name: string, body: (context: TestContext) => Promise<void>): void;
  /** Checks that `call` rejects with this code, and that the message names each of `words`. */
  rejects(call: Promise<unknown>, code: AglErrorCode, ...words: string[]): Promise<void>;
}

/** Ways to define tests against stores opened by `open`. */
export function contractTests(open: OpenStore, api: ContractApi): ContractTests {
  const define = (name: string, timed: boolean, body: (context: TestContext) => Promise<void>): void => {
    api.it(name, async () => {
      const { store, clock, close } = await open();
      try {
        if (timed && clock === undefined) return;
        await body({ store, advance: (seconds) => clock?.advance(seconds) });
      } finally {
        await close();
      }
    });
  };
  return {
    test: (name, body) => define(name, false, body),
    timed: (name, body) => define(name, true, body),
    async rejects(call, code, ...words) {
      const error: unknown = await call.then(
        (value) => new Error(`resolved with ${JSON.stringify(value)}`),
        (reason: unknown) => reason,
      );
      api.expect(AglError.is(error) ? error.code : String(error)).toBe(code);
      const message = (error as Error).message;
      api.expect(words.filter((word) => !message.includes(word))).toEqual([]);
    },
  };
}

/** Enqueues one rollout. */
export async function enqueue(
  store: LightningStore,
  request: Partial<EnqueueRolloutRequest> = {},
): Promise<Rollout> {
  const [rollout] = await store.enqueueRollouts([{ input: { task: "add" }, ...request }]);
  return rollout as Rollout;
}

/** Claims one rollout, which must be there. */
export async function claim(store: LightningStore, workerId?: string): Promise<AttemptedRollout> {
  const options = workerId === undefined ? {} : { worker_id: workerId };
  const [rollout] = await store.dequeueRollouts(options);
  if (rollout === undefined) throw new Error("the queue is empty");
  return rollout;
}

/** Span number `index` (1 to 255) of an attempt, with every field set and no sequence id. */
export function sampleSpan(
  attempt: Pick<Attempt, "rollout_id" | "attempt_id">,
  index: number,
  changes: Partial<SpanInput> = {},
): SpanInput {
  const traceId = "ab".repeat(16);
  const spanId = index.toString(16).padStart(16, "0");
  const attributes: JsonObject = {
    "gen_ai.request.model": "m",
    prompt_token_ids: [1, 2, 3],
    score: 0.5,
    ok: true,
    text: "näïve 日本 😀",
  };
  return {
    rollout_id: attempt.rollout_id,
    attempt_id: attempt.attempt_id,
    trace_id: traceId,
    span_id: spanId,
    parent_id: null,
    name: "openai.chat.completion",
    status: { status_code: "OK", description: null },
    attributes,
    events: [{ name: "first token", attributes: { index: 0 }, timestamp: 100.25 }],
    links: [
      {
        context: { trace_id: traceId, span_id: "f".repeat(16), is_remote: false, trace_state: {} },
        attributes: { kind: "retry" },
      },
    ],
    start_time: 100.125 + index,
    end_time: 100.5 + index,
    context: { trace_id: traceId, span_id: spanId, is_remote: false, trace_state: {} },
    parent: null,
    resource: { attributes: { "service.name": "agent" }, schema_url: "" },
    ...changes,
  };
}
