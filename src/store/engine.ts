/**
 * The engine: the store's interface over any backend, by the rules.
 *
 * @module
 */
import type { StoreBackend } from "./backend.ts";
import { createCore, type EngineOptions } from "./engine-core.ts";
import { resourceMethods } from "./engine-resources.ts";
import { applyTimeouts, rolloutMethods } from "./engine-rollouts.ts";
import { spanMethods } from "./engine-spans.ts";
import type { LocalStore } from "./interface.ts";

const SCAN_DEBOUNCE_SECONDS = 10;

/** A store over `backend`, which the store closes. */
export function createEngine(backend: StoreBackend, options: EngineOptions = {}): LocalStore {
  const core = createCore(backend, options);
  const debounce = options.scanDebounceSeconds ?? SCAN_DEBOUNCE_SECONDS;
  const opened = core.now();
  let lastScan = Number.NEGATIVE_INFINITY;

  const scan = (): void => {
    const now = core.now();
    if (now - lastScan < debounce) return;
    lastScan = now;
    applyTimeouts(core);
  };

  return {
    ...rolloutMethods(core, scan),
    ...spanMethods(core, scan),
    ...resourceMethods(core, scan),
    async statistics() {
      const totals = core.read(() => backend.totals());
      return {
        name: backend.name,
        total_rollouts: totals.rollouts,
        total_attempts: totals.attempts,
        total_spans: totals.spans,
        total_resources: totals.resources,
        total_workers: totals.workers,
        uptime: core.now() - opened,
        total_span_bytes: totals.spanBytes,
      };
    },
    subscribe(listener) {
      core.assertOpen();
      return core.feed.subscribe(listener);
    },
    async checkTimeouts() {
      core.assertOpen();
      lastScan = core.now();
      const ended = applyTimeouts(core);
      core.waits.recheck();
      return ended;
    },
    close: () => core.close(),
  };
}
