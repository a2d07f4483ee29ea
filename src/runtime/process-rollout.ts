/**
 * The rollout of a process that a controller started for it: `AGL_ROLLOUT_ID`, `AGL_ATTEMPT_ID` and `AGL_STORE_URL`
 * are set, and every span of the process belongs to it. `AGL_ROLLOUT_MODE` says its mode, which the store could only tell
 * after the first calls.
 *
 * @module
 */
import { ownGlobal } from "../internal/own-global.ts";
import type { RolloutMode } from "../protocol/rollout.ts";
import { SpanName } from "../protocol/semconv.ts";
import { startSpan } from "../trace/recorder.ts";
import { beginRolloutScope } from "../trace/rollout-scope.ts";
import { setProcessScope } from "../trace/scope.ts";
import { runtime } from "./configure.ts";
import { endOpenSpans } from "./end-open-spans.ts";
import { type Environment, readEnvironment } from "./settings.ts";

/** Makes the whole process one rollout when the environment says so. */
export function adoptProcessRollout(env: Environment = readEnvironment()): void {
  const { AGL_ROLLOUT_ID: rolloutId, AGL_ATTEMPT_ID: attemptId, AGL_STORE_URL: storeUrl } = env;
  if (!rolloutId || !attemptId || !storeUrl) return;
  // The process may have several copies of this package.
  const adopted = ownGlobal("adopted", () => new Set<string>());
  if (adopted.has(attemptId)) return;
  adopted.add(attemptId);
  const mode = (env.AGL_ROLLOUT_MODE || undefined) as RolloutMode | undefined;
  const rollout = beginRolloutScope({ rolloutId, attemptId, mode, stored: true, process: true });
  // Before the runtime's own hook, which delivers: listeners run in the order in which they were added.
  onNaturalEnd(() => endOpenSpans(rollout.open));
  if (runtime().client === undefined) return;
  const scope = { rollout, agent: undefined, suppressed: false };
  setProcessScope({ ...scope, span: undefined });
  // One root, as upstream's readers want it; when the process is cut off they make one in its place.
  const root = startSpan({ name: SpanName.Rollout });
  if (root !== undefined) root.onForcedEnd = () => root.end();
  setProcessScope({ ...scope, span: root });
}

function onNaturalEnd(listener: () => void): void {
  const { process } = globalThis as {
    process?: { once?: (event: "beforeExit", listener: () => void) => unknown };
  };
  process?.once?.("beforeExit", listener);
}
