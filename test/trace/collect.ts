/**
 * Collects finished spans in memory, for tests of the stages before the export.
 *
 * @module
 */
import { type FinishedSpan, shape } from "../../src/trace/finished-span.ts";
import { setDestinations } from "../../src/trace/recorder.ts";
import { beginRolloutScope, type RolloutScope } from "../../src/trace/rollout-scope.ts";
import { withScope } from "../../src/trace/scope.ts";

/** Sends all spans of stored rollouts to the list that it gives back. */
export function collect(): FinishedSpan[] {
  const spans: FinishedSpan[] = [];
  setDestinations({
    store(span) {
      shape(span);
      spans.push(span);
    },
  });
  return spans;
}

/** A rollout that exists only here. */
export function fakeRollout(rolloutId: string, changes: Partial<RolloutScope> = {}): RolloutScope {
  return { ...beginRolloutScope({ rolloutId, attemptId: `at-${rolloutId}`, stored: true }), ...changes };
}

/** Runs `fn` in a rollout of that id. */
export function inRollout<R>(rolloutId: string, fn: () => R): R {
  return withScope({ rollout: fakeRollout(rolloutId), span: undefined }, fn);
}
