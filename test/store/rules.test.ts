import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import { ATTEMPT_STATUSES, ROLLOUT_STATUSES, type RolloutConfig } from "../../src/protocol/rollout.ts";
import { copyJson } from "../../src/store/rows.ts";
import { hasLimits, holdsLease, newAttempt, overdue, patchAttempt } from "../../src/store/rules/attempts.ts";
import { completeConfig, moveRollout, newRollout } from "../../src/store/rules/rollouts.ts";
import { afterSequence, sequenceFor } from "../../src/store/rules/sequence.ts";
import { FINISHED, QUEUED, ROLLOUT_CHANGES, rolloutStatusOf } from "../../src/store/rules/statuses.ts";
import { times } from "../times.ts";

const config = (changes: Partial<RolloutConfig> = {}) => completeConfig(changes);
const rollout = newRollout(
  { input: 1 },
  { rolloutId: "ro-1", now: 10, latestResourcesId: null, queuePosition: null },
);
const attempt = newAttempt({ rolloutId: "ro-1", attemptId: "at-1", previous: null, workerId: null, now: 10 });

describe("the tables", () => {
  it("never let a rollout both wait and be finished, and let nothing out of cancelled", () => {
    for (const status of ROLLOUT_STATUSES) {
      expect(QUEUED[status] && FINISHED[status]).toBe(false);
      expect(ROLLOUT_CHANGES[status].every((next) => !FINISHED[status] || QUEUED[next])).toBe(true);
    }
    expect(ROLLOUT_CHANGES.cancelled).toEqual([]);
  });
});

describe("what an attempt means for its rollout", () => {
  it("is a retry only while the policy has one left", () => {
    const bad = ["failed", "timeout", "unresponsive"] as const;
    for (const status of bad) {
      const policy = config({ max_attempts: 3, retry_condition: [status] });
      expect([1, 2, 3, 4].map((number) => rolloutStatusOf(status, number, policy))).toEqual([
        "requeuing",
        "requeuing",
        "failed",
        "failed",
      ]);
      expect(rolloutStatusOf(status, 1, config({ max_attempts: 9 }))).toBe("failed");
    }
    for (const status of ["preparing", "running", "succeeded"] as const) {
      expect(rolloutStatusOf(status, 1, config({ max_attempts: 9, retry_condition: [status] }))).toBe(status);
    }
  });
});

describe("a move of a rollout", () => {
  it("asks for a place in the queue only when it has none", () => {
    const tail = () => 7;
    expect(moveRollout(rollout, "requeuing", { now: 1, tail })).toEqual({
      status: "requeuing",
      end_time: null,
      queue_position: 7,
    });
    const waiting = { ...rollout, status: "queuing" as const, queue_position: 3 };
    expect(moveRollout(waiting, "requeuing", { now: 1, tail }).queue_position).toBe(3);
    expect(moveRollout(waiting, "failed", { now: 1, tail })).toEqual({
      status: "failed",
      end_time: 1,
      queue_position: null,
    });
  });
});

describe("a lease", () => {
  it("is held by the latest attempt of a live rollout, and by no other", () => {
    for (const status of ROLLOUT_STATUSES) {
      for (const state of ATTEMPT_STATUSES) {
        const current = { ...rollout, status, latest_attempt_id: "at-1" };
        const held = holdsLease(current, { ...attempt, status: state });
        const expected =
          status === "preparing" ||
          status === "running" ||
          (status === "requeuing" && state === "unresponsive");
        expect([status, state, held]).toEqual([status, state, expected]);
        expect(holdsLease({ ...current, latest_attempt_id: "at-2" }, { ...attempt, status: state })).toBe(
          false,
        );
      }
    }
  });

  it("moves no rollout without it, whatever is reported", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ROLLOUT_STATUSES),
        fc.constantFrom(...ATTEMPT_STATUSES),
        fc.constantFrom(...ATTEMPT_STATUSES),
        (status, state, reported) => {
          const superseded = { ...rollout, status, latest_attempt_id: "at-2" };
          try {
            const move = patchAttempt(superseded, { ...attempt, status: state }, { status: reported }, 20);
            expect(move.rollout).toBe(null);
          } catch (error) {
            expect((error as { code: string }).code).toBe("conflict");
          }
        },
      ),
      times(100),
    );
  });
});

describe("limits", () => {
  it("count from the start, or from the last sign of life", () => {
    const current = { ...rollout, status: "running" as const, latest_attempt_id: "at-1" };
    const limited = { ...current, config: config({ timeout_seconds: 100, unresponsive_seconds: 5 }) };
    const heard = { ...attempt, last_heartbeat_time: 50 };
    expect([15, 15.5].map((now) => overdue(limited, attempt, now))).toEqual([null, "unresponsive"]);
    expect([55, 56, 110, 111].map((now) => overdue(limited, heard, now))).toEqual([
      null,
      "unresponsive",
      "unresponsive",
      "timeout",
    ]);
    expect(overdue({ ...limited, status: "requeuing" }, attempt, 1_000)).toBe(null);
    expect(overdue(limited, { ...attempt, status: "failed" }, 1_000)).toBe(null);
    expect([hasLimits(current.config), hasLimits(limited.config)]).toEqual([false, true]);
  });

  it("must be numbers that make sense", () => {
    for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY, "5" as unknown as number]) {
      expect(() => config({ timeout_seconds: bad })).toThrow("timeout_seconds");
      expect(() => config({ unresponsive_seconds: bad })).toThrow("unresponsive_seconds");
    }
    for (const bad of [0, -1, 1.5, Number.NaN]) {
      expect(() => config({ max_attempts: bad })).toThrow("max_attempts");
    }
    expect(() => config({ retry_condition: "failed" as unknown as [] })).toThrow("retry_condition");
  });
});

describe("sequence ids", () => {
  it("keep what is a positive whole number and issue the next for all else", () => {
    expect([1, 7, 3].map((given) => sequenceFor(given, 5))).toEqual([1, 7, 3]);
    const missing = [0, -1, 1.5, Number.NaN, 2 ** 60, "3", null, undefined];
    expect(missing.map((given) => sequenceFor(given, 5))).toEqual(Array(missing.length).fill(6));
    expect([afterSequence(5, 3), afterSequence(5, 9)]).toEqual([5, 9]);
  });
});

describe("what JSON cannot hold", () => {
  it("is refused before anything is written", () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    for (const value of [circle, { big: 1n }]) {
      expect(() => copyJson(value as JsonObject)).toThrow(
        expect.objectContaining({ code: "invalid_argument" }),
      );
    }
  });

  it("is left out, or null, where JSON says so", () => {
    expect(copyJson({ gone: undefined, list: [undefined] } as unknown as JsonObject)).toEqual({
      list: [null],
    });
    expect(copyJson(undefined as unknown as null)).toBe(null);
  });
});
