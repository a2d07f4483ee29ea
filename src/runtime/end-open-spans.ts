/**
 * Ends spans that nobody else will end: a stream that was never read, a promise that was never awaited.
 *
 * @module
 */
import type { OpenSpan } from "../trace/open-span.ts";

/** Ends every span of `open`, the youngest first, so that no child outlives its parent. */
export function endOpenSpans(open: ReadonlySet<OpenSpan>, except?: OpenSpan): void {
  for (const span of [...open].reverse()) {
    if (span === except) continue;
    try {
      span.onForcedEnd?.();
    } catch {
      // What was gathered could not be shaped; the span still ends below.
    }
    if (!span.ended) span.end({ outcome: "incomplete" });
  }
}
