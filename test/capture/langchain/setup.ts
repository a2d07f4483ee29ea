/**
 * Spans of LangChain programs as text, and rollouts side by side.
 *
 * @module
 */
import type { RolloutMode } from "../../../src/protocol/rollout.ts";
import { Agl } from "../../../src/protocol/semconv.ts";
import { endOpenSpans } from "../../../src/runtime/end-open-spans.ts";
import { spanTree } from "../../../src/testing/span-tree.ts";
import { type FinishedSpan, shape } from "../../../src/trace/finished-span.ts";
import { setDestinations, startSpan } from "../../../src/trace/recorder.ts";
import { withScope } from "../../../src/trace/scope.ts";
import { fakeRollout } from "../../trace/collect.ts";

/** What one rollout recorded. */
export interface Recorded<T> {
  value: T;
  /** Spans that ended, but the root. */
  spans: FinishedSpan[];
  /** Their tree, the root's name left out. */
  tree: string;
  /** Spans that were open when the program was done. */
  open: number;
}

/** Runs every function in a rollout of its own, all at once; each gets its number. */
export async function recordAll<T>(
  fns: ReadonlyArray<() => Promise<T>>,
  mode?: RolloutMode,
): Promise<Array<Recorded<T>>> {
  const ended: FinishedSpan[] = [];
  setDestinations({ store: (span) => void (span.name.startsWith("tool_call.") || ended.push(span)) });
  try {
    const runs = await Promise.all(
      fns.map(async (fn, index) => {
        const rollout = fakeRollout(`ro-${index}`, { mode });
        const root = withScope({ rollout }, () => startSpan({ name: "agentlightning.rollout" }))!;
        const value = await withScope({ rollout, span: root }, fn);
        const open = rollout.open.size - 1;
        endOpenSpans(rollout.open, root);
        root.end();
        return { rollout, value, open };
      }),
    );
    for (const span of ended) shape(span);
    return runs.map(({ rollout, value, open }) => {
      const own = ended.filter((span) => span.attributes[Agl.RolloutId] === rollout.rolloutId);
      const tree = spanTree(own).split("\n").slice(1);
      return {
        value,
        open,
        spans: own.filter((span) => span.name !== "agentlightning.rollout"),
        tree: tree.map((line) => line.slice(2)).join("\n"),
      };
    });
  } finally {
    setDestinations({});
  }
}

/** Runs `fn` in one rollout. */
export async function record<T>(fn: () => Promise<T>, mode?: RolloutMode): Promise<Recorded<T>> {
  return (await recordAll([fn], mode))[0]!;
}

/** Lines of a tree. */
export const lines = (...all: string[]): string => all.join("\n");
