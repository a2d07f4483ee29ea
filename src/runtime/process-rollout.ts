/**
 * The rollout of a process that a controller started for it: `AGL_ROLLOUT_ID`, `AGL_ATTEMPT_ID` and `AGL_STORE_URL`
 * are set, and every span of the process belongs to it.
 *
 * @module
 */
import type { RolloutScope } from "../trace/rollout-scope.ts";
import { setProcessScope } from "../trace/scope.ts";
import { runtime } from "./configure.ts";
import { type Environment, readEnvironment } from "./settings.ts";

/** Makes the whole process one rollout when the environment says so. */
export function adoptProcessRollout(env: Environment = readEnvironment()): void {
  const { AGL_ROLLOUT_ID: rolloutId, AGL_ATTEMPT_ID: attemptId, AGL_STORE_URL: storeUrl } = env;
  if (!rolloutId || !attemptId || !storeUrl) return;
  const rollout: RolloutScope = {
    rolloutId,
    attemptId,
    mode: undefined,
    input: undefined,
    stored: true,
    process: true,
    open: new Set(),
    reward: undefined,
    ended: false,
  };
  setProcessScope({ rollout, agent: undefined, span: undefined, suppressed: false });
  runtime();
}
