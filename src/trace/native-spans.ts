/**
 * OpenTelemetry spans that a vendor's SDK makes by itself, in the app's tracer provider, of calls that are recorded
 * here. They are the app's and stay; only the app's provider's way into a rollout passes over them.
 *
 * @module
 */
import { ownGlobal } from "../internal/own-global.ts";

const native = ownGlobal("native-spans", () => ({ calls: 0, covered: new WeakSet<object>() }));

/** Runs `call`, the start of a recorded call; `options` may hold the span that a helper of the SDK's has started for it. */
export function coveringNative<R>(options: unknown, call: () => R): R {
  const span = (options as { __span?: { span?: unknown } } | null | undefined)?.__span?.span;
  if (typeof span === "object" && span !== null) native.covered.add(span);
  native.calls++;
  try {
    return call();
  } finally {
    native.calls--;
  }
}

/** Has `span`, which has just started, taken for the SDK's own when the start of a recorded call is running. */
export function noteNative(span: object): void {
  if (native.calls > 0) native.covered.add(span);
}

/** True when the call that `span` stands for is recorded. */
export function isNative(span: object): boolean {
  return native.covered.has(span);
}
