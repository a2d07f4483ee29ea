/**
 * A synchronous OpenTelemetry context manager, registered for a test.
 *
 * @module
 */
import { type Context, context, ROOT_CONTEXT } from "@opentelemetry/api";

const SUPPRESS = Symbol.for("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

/** Registers the manager; the app's own context holds `appKey`. */
export function registerContext(appKey: symbol): void {
  let active: Context = ROOT_CONTEXT.setValue(appKey, "the app's");
  context.setGlobalContextManager({
    active: () => active,
    with: (inner, fn, self, ...args) => {
      const outer = active;
      active = inner;
      try {
        return fn.call(self as never, ...args);
      } finally {
        active = outer;
      }
    },
    bind: (_, target) => target,
    enable: () => undefined as never,
    disable: () => undefined as never,
  });
}

/** Whether instrumentations would make no spans here. */
export function isSuppressed(): boolean {
  return context.active().getValue(SUPPRESS) === true;
}
