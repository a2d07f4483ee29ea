/**
 * The one callback handler, through which LangChain tells of its runs. LangChain awaits it, so that it runs where the
 * run starts; it does nothing asynchronous and never throws.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import type { Outcome } from "../../protocol/semconv.ts";
import { GenAi } from "../../protocol/semconv.ts";
import type { SpanStart } from "../../trace/open-span.ts";
import { startSpan } from "../../trace/recorder.ts";
import { currentScope } from "../../trace/scope.ts";
import { openModelRun } from "../model-run.ts";
import { isObject } from "../openai/shape.ts";
import { readResult } from "./model-answer.ts";
import { type ModelStart, providerOf, requestBody } from "./model-request.ts";
import {
  chainStart,
  isHidden,
  isNamed,
  type RunFacts,
  retrieverStart,
  toolResult,
  toolRunStart,
} from "./run-start.ts";
import { closeRun, type ModelPlace, openRun, type Run, runOf, spanUnder } from "./runs.ts";

/** A callback handler by LangChain's duck typing. */
export type Handler = Readonly<Record<string, unknown>>;

function createHandler(): Handler {
  const own: Record<string, unknown> = {
    name: "agentlightning",
    // Else LangChain calls it later, from a queue that is pumped in another run's context.
    awaitHandlers: true,
    raiseError: false,
    ignoreLLM: false,
    ignoreChain: false,
    ignoreAgent: false,
    ignoreRetriever: false,
    ignoreCustomEvent: true,
    copy: () => own,
  };
  for (const [name, method] of Object.entries(METHODS)) {
    own[name] = (...args: unknown[]): void => {
      try {
        method(...args);
      } catch {
        // The user's run goes on without its span.
      }
    };
  }
  return own;
}

const METHODS: Readonly<Record<string, (...args: unknown[]) => void>> = {
  handleChainStart(serialized, _inputs, id, parentId, tags, metadata, _type, runName) {
    const facts = factsOf(serialized, runName, tags, metadata, parentId);
    const { start, named, agentName } = chainStart(facts);
    begin(id, facts, isHidden(tags) ? undefined : start, { named, agentName });
  },
  handleToolStart(serialized, input, id, parentId, tags, metadata, runName, callId) {
    const facts = factsOf(serialized, runName, tags, metadata, parentId);
    begin(id, facts, toolRunStart(facts, input, callId));
  },
  handleRetrieverStart(serialized, query, id, parentId, tags, metadata, runName) {
    const facts = factsOf(serialized, runName, tags, metadata, parentId);
    begin(id, facts, retrieverStart(facts, query));
  },
  handleChatModelStart: startModel,
  handleLLMStart: startModel,
  handleChainEnd: (_outputs, id) => closeRun(id as string)?.span?.end(),
  handleToolEnd(output, id) {
    const span = closeRun(id as string)?.span;
    span?.setAttribute(GenAi.ToolResult, toolResult(output));
    span?.end();
  },
  handleRetrieverEnd(documents, id) {
    const span = closeRun(id as string)?.span;
    if (Array.isArray(documents)) span?.setAttribute("gen_ai.retrieval.document_count", documents.length);
    span?.end();
  },
  handleLLMEnd: (result, id) => closeRun(id as string)?.model?.answered(result),
  handleChainError: fail,
  handleToolError: fail,
  handleRetrieverError: fail,
  handleLLMError(error, id) {
    closeRun(id as string)?.model?.failed(outcomeOf(error), error);
  },
};

/** The handler that every copy of this package shares. */
export const handler: Handler = ownGlobal("langchain-handler", createHandler);

function factsOf(
  serialized: unknown,
  runName: unknown,
  tags: unknown,
  metadata: unknown,
  parentId: unknown,
): RunFacts {
  return { serialized, runName, tags, metadata, parent: runOf(parentId), under: spanUnder(parentId) };
}

function begin(
  id: unknown,
  facts: RunFacts,
  start: SpanStart | undefined,
  names: Pick<Run, "named" | "agentName"> = inherited(facts),
): void {
  const { parent, under } = facts;
  const span = start && startSpan({ ...start, parent: under });
  openRun(id as string, { ...names, parent, span, at: currentScope()?.span });
}

function inherited(facts: Pick<RunFacts, "parent" | "under">): Pick<Run, "named" | "agentName"> {
  return { named: isNamed(facts), agentName: facts.parent?.agentName };
}

function startModel(
  llm: unknown,
  prompts: unknown,
  id: unknown,
  parentId: unknown,
  extra: unknown,
  _tags: unknown,
  metadata: unknown,
): void {
  const runId = id as string;
  const scope = currentScope();
  if (scope?.suppressed === true) return;
  const prompt: unknown = Array.isArray(prompts) ? prompts[0] : prompts;
  const parent = runOf(parentId);
  const under = spanUnder(parentId);
  const told: ModelStart = { llm, prompt, extra, metadata };
  const start = { body: () => requestBody(told), provider: providerOf(told), read: readResult };
  const model = openModelRun(start, under, () => closeRun(runId));
  const place = scope?.inner as ModelPlace | undefined;
  if (place !== undefined && "run" in place) {
    place.run ??= model;
    model.place = place;
  }
  openRun(runId, { ...inherited({ parent, under }), parent, span: undefined, at: scope?.span, model });
}

function fail(error: unknown, id: unknown): void {
  const span = closeRun(id as string)?.span;
  if (isObject(error) && error["is_bubble_up"] === true) {
    // An interrupt, or a command for the graph around: how LangGraph steers, not a failure.
    span?.setAttribute("langgraph.control", String(error["name"]));
    span?.end();
    return;
  }
  span?.end({ outcome: outcomeOf(error), error });
}

function outcomeOf(error: unknown): Outcome {
  if (!isObject(error)) return "error";
  const { name, message } = error;
  const aborted =
    name === "AbortError" || name === "ModelAbortError" || message === "Abort" || message === "Aborted";
  return aborted ? "aborted" : "error";
}
