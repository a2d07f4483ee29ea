/**
 * Several destinations as one.
 *
 * @module
 */
import type { EndableSink } from "./exit.ts";
import type { FlushReport } from "./sink.ts";

const NOTHING: FlushReport = { sent: 0, failed: 0, pending: 0 };

/** A sink that follows its contract, whatever `call` does. */
async function safely(call: () => Promise<FlushReport>): Promise<FlushReport> {
  try {
    return await call();
  } catch {
    return NOTHING;
  }
}

/**
 * Gives every span to each of `sinks`; what one of them does is no matter of the others. Reports are those of the
 * first, which is the one that the end of a rollout waits for: a flush with `rolloutId` only sets the others going.
 */
export function createFanOut(sinks: readonly EndableSink[]): EndableSink {
  const [first, ...others] = sinks;
  return {
    get pending() {
      return sinks.reduce((sum, sink) => sum + sink.pending, 0);
    },
    add(span) {
      for (const sink of sinks) {
        try {
          sink.add(span);
        } catch {
          // Against the contract of a sink, and no reason to keep the span from the next one.
        }
      }
    },
    async flush(options) {
      const rest = others.map((sink) => safely(() => sink.flush(options)));
      const report = first === undefined ? NOTHING : await safely(() => first.flush(options));
      if (options?.rolloutId === undefined) await Promise.all(rest);
      return report;
    },
    async shutdown(options) {
      const [report] = await Promise.all(sinks.map((sink) => safely(() => sink.shutdown(options))));
      return report ?? NOTHING;
    },
    interrupt() {
      for (const sink of sinks) sink.interrupt();
    },
    rescue() {
      return sinks.reduce((lost, sink) => lost + sink.rescue(), 0);
    },
  };
}
