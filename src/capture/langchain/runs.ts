/**
 * LangChain's runs that have started and not ended, by their ids, and where the spans of each belong.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import { SpanName } from "../../protocol/semconv.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { currentScope, type InnerCalls, type Scope, withScope } from "../../trace/scope.ts";
import type { ModelRun } from "../model-run.ts";

/** What the patched model and the callback handler tell each other of one call. */
export interface ModelPlace extends InnerCalls {
  run: ModelRun | undefined;
}

/** A chain, a graph, a node, a tool or a model at work. */
export interface Run {
  /** Undefined for runs that LangChain hides: their children belong to the run around them. */
  readonly span: OpenSpan | undefined;
  readonly parent: Run | undefined;
  /** The span that the code was in when the run started. */
  readonly at: OpenSpan | undefined;
  /** True when the program itself has named the agent, so that a node's name does not. */
  readonly named: boolean;
  /** Name that `createAgent` was given, of this run or of one around it. */
  readonly agentName: string | undefined;
  readonly model?: ModelRun;
}

interface Runs {
  readonly open: Map<string, Run>;
  /** Every span that stands for a run. */
  readonly spans: WeakSet<OpenSpan>;
}

// The ESM and the CJS copy of LangChain can hand runs to each other.
const runs = ownGlobal<Runs>("langchain-runs", () => ({ open: new Map(), spans: new WeakSet() }));

/** The run of this id, while it is open. */
export function runOf(id: unknown): Run | undefined {
  return typeof id === "string" ? runs.open.get(id) : undefined;
}

/** Keeps a run until {@link closeRun}. A run that nobody ends is forgotten with its span. */
export function openRun(id: string, run: Run): void {
  runs.open.set(id, run);
  const { span } = run;
  if (span === undefined) return;
  runs.spans.add(span);
  span.onForcedEnd = () => {
    runs.open.delete(id);
  };
}

/** Takes the run out; undefined when it is not open. */
export function closeRun(id: string): Run | undefined {
  const run = runs.open.get(id);
  runs.open.delete(id);
  return run;
}

/** Number of open runs. */
export function openRuns(): number {
  return runs.open.size;
}

/** True for a span that stands for a run, false for one that the program has opened. */
export function isRunSpan(span: OpenSpan): boolean {
  return runs.spans.has(span);
}

/** The id of the run that LangChain's callbacks belong to. */
export function parentRunId(callbacks: unknown): unknown {
  return (callbacks as { _parentRunId?: unknown } | null | undefined)?._parentRunId;
}

/**
 * The span under which something that run `id` starts belongs: the run's own, or one that the program has opened
 * inside the run. Without such a run it is the scope's span.
 */
export function spanUnder(id: unknown): OpenSpan | undefined {
  const here = currentScope()?.span;
  const run = runOf(id);
  let visible = run;
  while (visible !== undefined && visible.span === undefined) visible = visible.parent;
  const own = visible?.span;
  if (own === undefined || here === undefined) return own ?? here;
  // LangChain runs code wherever its queues and streams are pumped: only a span of the program's own, in the same
  // rollout, that was not there when the run started can be inside the run.
  const outside =
    here === run?.at ||
    here === visible?.at ||
    here.ended ||
    here.rollout !== own.rollout ||
    here.name === SpanName.Rollout ||
    runs.spans.has(here);
  return outside ? own : here;
}

/** The changes of the scope that put code under `span`. */
export function scopeUnder(span: OpenSpan | undefined): Partial<Scope> {
  const scope = currentScope();
  if (span === undefined || span === scope?.span) return {};
  return { span, agent: span.agent ?? scope?.agent, rollout: span.rollout ?? scope?.rollout };
}

/** Runs `fn` as the code of run `id`. */
export function runInside<R>(id: unknown, fn: () => R): R {
  if (runOf(id) === undefined) return fn();
  return withScope(scopeUnder(spanUnder(id)), fn);
}
