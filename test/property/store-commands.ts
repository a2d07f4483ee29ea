/**
 * Random calls that are made on the memory store, the SQLite store and the model at once, and must give the same.
 *
 * @module
 */
import fc from "fast-check";
import { expect } from "vitest";
import { AglError } from "../../src/errors.ts";
import {
  ATTEMPT_STATUSES,
  type AttemptStatus,
  ROLLOUT_STATUSES,
  type RolloutConfig,
  type RolloutStatus,
} from "../../src/protocol/rollout.ts";
import { LATE_RESULT, type LocalStore } from "../../src/store/index.ts";
import { sampleSpan } from "../../src/testing/store-contract/harness.ts";
import type { ModelAttempt, ModelRollout, StoreModel } from "./store-model.ts";

/** The stores under test; `reopen` closes the SQLite file and opens it again. */
export interface Real {
  stores(): LocalStore[];
  reopen(): Promise<void>;
  advance(seconds: number): void;
}

type Step = (model: StoreModel, real: Real) => Promise<void>;

const FINISHED: RolloutStatus[] = ["succeeded", "failed", "cancelled"];

class Command implements fc.AsyncCommand<StoreModel, Real> {
  readonly #name: string;
  readonly #step: Step;
  /** Whether this call may take a finished rollout back: only those that name it do. */
  readonly #reopens: boolean;

  constructor(name: string, step: Step, reopens = false) {
    this.#name = name;
    this.#step = step;
    this.#reopens = reopens;
  }
  check = () => true;
  toString = () => this.#name;
  async run(model: StoreModel, real: Real) {
    const before = await statuses(model, real);
    await this.#step(model, real);
    const after = await statuses(model, real);
    for (const [id, status] of before) {
      const final = status === "cancelled" || (FINISHED.includes(status) && !this.#reopens);
      if (final) expect([id, after.get(id)]).toEqual([id, status]);
    }
    await compare(model, real);
  }
}

// Every read applies the time-outs that are due, and so does the model.
async function statuses(model: StoreModel, real: Real): Promise<Map<string, RolloutStatus>> {
  model.expire();
  const { value } = await same(real, (store) => store.queryRollouts());
  return new Map(value?.items.map(({ rollout_id, status }) => [rollout_id, status]));
}

/** Makes the call on every store; all must give the same value, or fail with the same code. */
async function same<T>(
  real: Real,
  call: (store: LocalStore) => Promise<T>,
): Promise<{ value?: T; code?: string }> {
  const outcomes = [];
  for (const store of real.stores()) {
    outcomes.push(
      await call(store).then(
        (value) => ({ value }),
        (error: unknown) => {
          if (!AglError.is(error)) throw error;
          return { code: error.code, message: error.message };
        },
      ),
    );
  }
  for (const other of outcomes.slice(1)) expect(other).toEqual(outcomes[0]);
  return outcomes[0] as { value?: T; code?: string };
}

/** Compares all that can be read with the model. */
export async function compare(model: StoreModel, real: Real): Promise<void> {
  const { value: page } = await same(real, (store) => store.queryRollouts());
  const seen = page?.items.map((rollout) => ({
    id: rollout.rollout_id,
    status: rollout.status,
    end: rollout.end_time,
    latest: "attempt" in rollout ? rollout.attempt.attempt_id : null,
  }));
  expect(seen).toEqual(
    model.rollouts.map(({ id, status, end, attempts }) => ({
      id,
      status,
      end,
      latest: attempts.at(-1)?.id ?? null,
    })),
  );
  for (const rollout of model.rollouts) {
    const attempts = await same(real, (store) => store.queryAttempts(rollout.id));
    const rows = attempts.value?.items.map((row) => ({
      id: row.attempt_id,
      number: row.sequence_id,
      status: row.status,
      start: row.start_time,
      end: row.end_time,
      beat: row.last_heartbeat_time,
      late: (row.metadata?.[LATE_RESULT] as { status: AttemptStatus } | undefined)?.status ?? null,
    }));
    expect(rows).toEqual(rollout.attempts.map((attempt, i) => ({ ...attempt, number: i + 1 })));
    const spans = await same(real, (store) => store.querySpans({ rollout_id: rollout.id }));
    const keys = spans.value?.items.map((span) => [`${span.attempt_id} ${span.span_id}`, span.sequence_id]);
    expect(keys?.sort()).toEqual([...rollout.spans].sort());
  }
  await same(real, (store) => store.queryWorkers());
}

/** The `n`-th of a list that may be empty, counted around. */
const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(list.length, 1)];

const withRollout =
  (n: number, step: (rollout: ModelRollout, model: StoreModel, real: Real) => Promise<void>): Step =>
  async (model, real) => {
    const rollout = pick(model.rollouts, n);
    if (rollout !== undefined) await step(rollout, model, real);
  };

const withAttempt = (
  n: number,
  m: number,
  step: (rollout: ModelRollout, attempt: ModelAttempt, model: StoreModel, real: Real) => Promise<void>,
): Step =>
  withRollout(n, async (rollout, model, real) => {
    const attempt = pick(rollout.attempts, m);
    if (attempt !== undefined) await step(rollout, attempt, model, real);
  });

const index = fc.nat({ max: 20 });
const worker = fc.constantFrom("w-1", "w-2", null);
const config: fc.Arbitrary<RolloutConfig> = fc.record({
  timeout_seconds: fc.constantFrom(null, 5, 20),
  unresponsive_seconds: fc.constantFrom(null, 3),
  max_attempts: fc.integer({ min: 1, max: 3 }),
  retry_condition: fc.subarray(["failed", "timeout", "unresponsive"] as AttemptStatus[]),
});

const enqueue = config.map(
  (config) =>
    new Command(`enqueue(${JSON.stringify(config)})`, async (model, real) => {
      const { value } = await same(real, (store) => store.enqueueRollouts([{ input: null, config }]));
      model.enqueue(value?.[0]?.rollout_id as string, config);
    }),
);

const claim = fc.tuple(fc.integer({ min: -1, max: 4 }), worker).map(
  ([limit, worker_id]) =>
    new Command(`claim(${limit}, ${worker_id})`, async (model, real) => {
      // Time-outs come first: they may put a retry into the queue.
      model.expire();
      const expected = model.head(limit);
      const { value } = await same(real, (store) => store.dequeueRollouts({ limit, worker_id }));
      expect(value?.map(({ rollout_id }) => rollout_id)).toEqual(expected.map(({ id }) => id));
      for (const [i, rollout] of expected.entries()) {
        expect(model.begin(rollout, value?.[i]?.attempt.attempt_id as string)).toBe(null);
      }
    }),
);

const startAttempt = fc.tuple(index, worker).map(
  ([n, worker_id]) =>
    new Command(
      `startAttempt(#${n}, ${worker_id})`,
      withRollout(n, async (rollout, model, real) => {
        model.expire();
        const { value, code } = await same(real, (store) => store.startAttempt(rollout.id, { worker_id }));
        expect(code ?? null).toBe(model.begin(rollout, value?.attempt.attempt_id ?? ""));
      }),
      true,
    ),
);

const updateRollout = fc.tuple(index, fc.constantFrom(...ROLLOUT_STATUSES)).map(
  ([n, status]) =>
    new Command(
      `updateRollout(#${n}, ${status})`,
      withRollout(n, async (rollout, model, real) => {
        model.expire();
        const { code } = await same(real, (store) => store.updateRollout(rollout.id, { status }));
        expect(code ?? null).toBe(model.setRollout(rollout, status));
      }),
      true,
    ),
);

const report = fc.tuple(index, index, fc.boolean(), fc.constantFrom(...ATTEMPT_STATUSES)).map(
  ([n, m, latest, status]) =>
    new Command(
      `report(#${n}, ${latest ? "latest" : `#${m}`}, ${status})`,
      withRollout(n, async (rollout, model, real) => {
        model.expire();
        const attempt = latest ? rollout.attempts.at(-1) : pick(rollout.attempts, m);
        const before = rollout.status;
        const id = latest ? "latest" : (attempt?.id ?? "at-unknown");
        const { code } = await same(real, (store) => store.updateAttempt(rollout.id, id, { status }));
        expect(code ?? null).toBe(model.report(rollout, attempt, status));
        if (attempt !== rollout.attempts.at(-1)) expect(rollout.status).toBe(before);
      }),
    ),
);

const addSpans = fc
  .tuple(
    index,
    index,
    fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: -1, max: 9 })), { maxLength: 4 }),
  )
  .map(
    ([n, m, spans]) =>
      new Command(
        `addSpans(#${n}, #${m}, ${JSON.stringify(spans)})`,
        withAttempt(n, m, async (rollout, attempt, model, real) => {
          const last = rollout.lastSequence;
          const batch = spans.map(([i, sequence_id]) => ({
            ...sampleSpan({ rollout_id: rollout.id, attempt_id: attempt.id }, i),
            sequence_id,
          }));
          const { value } = await same(real, (store) => store.addSpans(batch));
          let stored = 0;
          for (const [i, span] of batch.entries()) {
            const expected = model.addSpan(rollout, attempt, span.span_id, span.sequence_id);
            const result = value?.[i];
            expect(result?.status).toBe(expected === null ? "duplicate" : "stored");
            if (expected === null || result?.status !== "stored") continue;
            stored++;
            expect(result.span.sequence_id).toBe(expected);
            // What the store issues is above all that it issued or saw.
            if (span.sequence_id <= 0) expect(expected).toBeGreaterThan(last);
          }
          if (stored > 0) model.beat(rollout, attempt);
        }),
      ),
  );

const nextSequence = fc.tuple(index, index).map(
  ([n, m]) =>
    new Command(
      `nextSequenceId(#${n}, #${m})`,
      withAttempt(n, m, async (rollout, attempt, _model, real) => {
        const { value } = await same(real, (store) => store.nextSequenceId(rollout.id, attempt.id));
        expect(value).toBe(++rollout.lastSequence);
      }),
    ),
);

const advance = fc.integer({ min: 1, max: 7 }).map(
  (seconds) =>
    new Command(`advance(${seconds})`, async (model, real) => {
      model.now += seconds;
      real.advance(seconds);
      const { value } = await same(real, (store) => store.checkTimeouts());
      expect(value).toBe(model.expire());
    }),
);

const wait = fc.constant(
  new Command("wait", async (model, real) => {
    model.expire();
    const ids = [...model.rollouts.map(({ id }) => id), "ro-unknown"].reverse();
    const { value } = await same(real, (store) => store.waitForRollouts(ids, { timeoutSeconds: 0 }));
    const finished = new Set(model.finished().map(({ id }) => id));
    expect(value?.map(({ rollout_id }) => rollout_id)).toEqual(ids.filter((id) => finished.has(id)));
  }),
);

const reopen = fc.constant(new Command("reopen", (_model, real) => real.reopen()));

/** All kinds of calls. */
export const storeCommands = [
  enqueue,
  claim,
  startAttempt,
  updateRollout,
  report,
  addSpans,
  nextSequence,
  advance,
  wait,
  reopen,
];
