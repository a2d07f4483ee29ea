/**
 * One rollout: starts it at the store, runs the agent, ends what is open, delivers, reports.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import { randomHex } from "../internal/ids.ts";
import { say } from "../internal/say.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { RolloutConfig, RolloutMode } from "../protocol/rollout.ts";
import { SpanName } from "../protocol/semconv.ts";
import { startSpan } from "../trace/recorder.ts";
import { beginRolloutScope, type RolloutScope } from "../trace/rollout-scope.ts";
import { currentScope, withScope } from "../trace/scope.ts";
import { type Runtime, runtime, settled } from "./configure.ts";
import { endOpenSpans } from "./end-open-spans.ts";

/** Options of {@link rollout}. */
export interface RolloutOptions {
  /** The task, as any JSON value. */
  input: Json;
  /** `train` asks the model server for token ids and log probabilities. Default: none of the three. */
  mode?: RolloutMode;
  /** Kept with the rollout. */
  metadata?: JsonObject;
  /** Limits and retries for the store's watchdog. */
  config?: Partial<RolloutConfig>;
  /** Version of the resources to run with; by default the store's latest. */
  resourcesId?: string;
}

/** The rollout that the agent runs in. */
export interface RolloutInfo {
  rolloutId: string;
  attemptId: string;
  input: Json;
  mode: RolloutMode | undefined;
}

/** What a rollout gave. */
export interface RolloutResult<R> {
  rolloutId: string;
  attemptId: string;
  /** What the function gave back. */
  value: R;
  /** The last reward emitted inside (its primary dimension); undefined when there was none. */
  reward: number | undefined;
  /** True when the rollout was started at a store; false for a local one. */
  stored: boolean;
}

/**
 * Runs `fn` as one rollout. With a store the rollout is started there, and when `fn` is done: open spans are ended,
 * spans are delivered, and the attempt is reported as succeeded or failed. Without a store, or when it cannot be
 * reached, `fn` runs all the same and the rollout is local; the console (or OpenTelemetry's `diag`) says so.
 *
 * Where a controller started the process for one rollout (`AGL_ROLLOUT_ID`), `fn` runs as that rollout, in
 * the mode of `AGL_ROLLOUT_MODE`, or else in the one given here, which is then the process's.
 *
 * @throws whatever `fn` throws, untouched; AglError `conflict` inside another rollout
 * @example
 * ```ts
 * import * as agl from "agentlightning";
 * const { value, reward } = await agl.rollout({ input: "2 + 2", mode: "train" }, async ({ input }) => {
 *   agl.emitReward(1);
 *   return `solved ${input}`;
 * });
 * ```
 */
export async function rollout<R>(
  options: RolloutOptions,
  fn: (rollout: RolloutInfo) => R | Promise<R>,
): Promise<RolloutResult<Awaited<R>>> {
  const outer = currentScope()?.rollout;
  if (outer !== undefined && !outer.ended) {
    if (outer.process) return join(outer, options, fn);
    throw new AglError(
      "conflict",
      `rollout() was called inside rollout ${outer.rolloutId}. Rollouts do not nest: call the inner function directly, or start it outside (agl.agent() names a part of a rollout).`,
    );
  }
  const current = runtime();
  const scope = await start(current, options);
  const root = withScope({ rollout: scope, span: undefined }, () => startSpan({ name: SpanName.Rollout }));
  const info: RolloutInfo = { ...identify(scope), input: options.input, mode: options.mode };
  let value: Awaited<R>;
  try {
    value = await withScope({ rollout: scope, span: root }, () => fn(info));
  } catch (error) {
    endOpenSpans(scope.open, root);
    root?.end({ outcome: "error", error });
    await finish(current, scope, "failed");
    throw error;
  }
  endOpenSpans(scope.open, root);
  root?.end();
  await finish(current, scope, "succeeded");
  return { ...identify(scope), value, reward: scope.reward, stored: scope.stored };
}

const identify = ({ rolloutId, attemptId }: RolloutScope) => ({ rolloutId, attemptId });

/** The process is one rollout already: `fn` runs in it, and its end is the controller's to report. */
async function join<R>(
  scope: RolloutScope,
  options: RolloutOptions,
  fn: (rollout: RolloutInfo) => R | Promise<R>,
): Promise<RolloutResult<Awaited<R>>> {
  scope.mode ??= options.mode;
  const value = await fn({ ...identify(scope), input: options.input, mode: scope.mode });
  return { ...identify(scope), value, reward: scope.reward, stored: scope.stored };
}

async function start(current: Runtime, options: RolloutOptions): Promise<RolloutScope> {
  let ids: { rolloutId: string; attemptId: string } | undefined;
  try {
    // A store that hangs must not hold up the program.
    const client = current.client?.withSignal(AbortSignal.timeout(current.startTimeoutMs));
    const started = await client?.startRollout({
      input: options.input,
      ...(options.mode === undefined ? {} : { mode: options.mode }),
      ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
      ...(options.config === undefined ? {} : { config: options.config }),
      ...(options.resourcesId === undefined ? {} : { resources_id: options.resourcesId }),
    });
    if (started !== undefined) ids = { rolloutId: started.rollout_id, attemptId: started.attempt.attempt_id };
  } catch (error) {
    const late = error instanceof AglError && error.code === "aborted";
    const reason = late ? `no answer within ${current.startTimeoutMs} ms` : error;
    say(
      "error",
      "start",
      `the rollout runs without the store: ${reason instanceof Error ? reason.message : reason}`,
    );
  }
  return beginRolloutScope({
    rolloutId: ids?.rolloutId ?? `local-${randomHex(6)}`,
    attemptId: ids?.attemptId ?? `local-${randomHex(4)}`,
    mode: options.mode,
    input: options.input,
    stored: ids !== undefined,
  });
}

/** Delivers, then reports. Past the time limit both go on in the background; `flush` and `shutdown` wait for them. */
async function finish(current: Runtime, scope: RolloutScope, status: "succeeded" | "failed"): Promise<void> {
  scope.ended = true;
  if (!scope.stored) return;
  const report = deliverAndReport(current, scope, status).catch((error: unknown) => {
    say(
      "error",
      "report",
      `rollout ${scope.rolloutId} ${status}, but the store could not be told: ${error instanceof Error ? error.message : error}`,
    );
  });
  current.reports.add(report);
  void report.finally(() => current.reports.delete(report));
  await settled([report], current.reportTimeoutMs);
}

const LAST_DELIVERY_WAIT_MS = 30_000;

async function deliverAndReport(
  current: Runtime,
  scope: RolloutScope,
  status: "succeeded" | "failed",
): Promise<void> {
  // The trainer reads the spans as soon as it sees the rollout finished: the report never goes before them.
  for (let round = 0; ; round++) {
    const delivery = await current.storeSink?.flush({
      rolloutId: scope.rolloutId,
      timeoutMs: LAST_DELIVERY_WAIT_MS,
    });
    if (delivery === undefined || delivery.pending === 0) break;
    if (round === 20)
      throw new AglError("timeout", `${delivery.pending} spans are still waiting for the store`);
  }
  await current.client?.updateAttempt(scope.rolloutId, scope.attemptId, { status });
}
