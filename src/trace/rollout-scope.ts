/**
 * A rollout as the code inside it sees it.
 *
 * @module
 */
import type { Json } from "../protocol/json.ts";
import type { RolloutMode } from "../protocol/rollout.ts";
import type { OpenSpan } from "./open-span.ts";

/** The rollout and attempt that spans belong to. */
export interface RolloutScope {
  readonly rolloutId: string;
  readonly attemptId: string;
  mode: RolloutMode | undefined;
  readonly input: Json | undefined;
  /** True when the spans of this rollout go to a store (false: a local rollout without one). */
  readonly stored: boolean;
  /** True when the whole process is this rollout, by the environment. */
  readonly process: boolean;
  /** Spans that have started and not ended. */
  readonly open: Set<OpenSpan>;
  /** The last value of the primary reward, for the result of `rollout()`. */
  reward: number | undefined;
  /** True once the rollout has ended: later spans are not recorded for it. */
  ended: boolean;
}

/** A rollout at its start: nothing open, no reward yet. */
export function beginRolloutScope(
  start: Pick<RolloutScope, "rolloutId" | "attemptId" | "stored"> &
    Partial<Pick<RolloutScope, "mode" | "input" | "process">>,
): RolloutScope {
  return {
    mode: undefined,
    input: undefined,
    process: false,
    ...start,
    open: new Set(),
    reward: undefined,
    ended: false,
  };
}
