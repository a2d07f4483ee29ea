/**
 * Names and attributes of the spans of chains, graphs, nodes, tools and retrievers.
 *
 * @module
 */
import { safeJson } from "../../internal/safe-json.ts";
import { GenAi } from "../../protocol/semconv.ts";
import type { OpenSpan, SpanStart } from "../../trace/open-span.ts";
import { currentScope } from "../../trace/scope.ts";
import { className, field } from "./model-request.ts";
import { isRunSpan, type Run } from "./runs.ts";

/** The attribute in which upstream's readers find the agent's name of a LangGraph node. */
const CHAIN_TYPE = "langchain.chain.type";

/** What a callback tells of a run. */
export interface RunFacts {
  readonly serialized: unknown;
  readonly runName: unknown;
  readonly tags: unknown;
  readonly metadata: unknown;
  readonly parent: Run | undefined;
  /** The span that the run's will be a child of. */
  readonly under: OpenSpan | undefined;
}

/** A run's span, and what its children have to know. */
export type NamedStart = Pick<Run, "named" | "agentName"> & { start: SpanStart };

/** The name of a graph that was given none. */
const UNNAMED = "LangGraph";
/** Nodes that every prebuilt agent has; they name a step, not an agent. */
const STEPS: ReadonlySet<string> = new Set(["agent", "model", "model_request", "tools", "call_model"]);

/** True for runs that LangChain does not show in traces. */
export function isHidden(tags: unknown): boolean {
  return Array.isArray(tags) && tags.includes("langsmith:hidden");
}

/** The span of a chain: a graph or an agent, one of its nodes, or any other runnable. */
export function chainStart(facts: RunFacts): NamedStart {
  const { metadata, parent } = facts;
  const type = className(facts.serialized);
  const name = typeof facts.runName === "string" && facts.runName !== "" ? facts.runName : (type ?? "chain");
  // Inherited by every run inside the agent.
  const own = field(metadata, "lc_agent_name");
  const agentName = typeof own === "string" && own !== "" ? own : undefined;
  if (agentName !== undefined && agentName !== parent?.agentName) {
    return { start: agentStart(agentName), named: true, agentName };
  }
  const named = isNamed(facts);
  const inherited = { named, agentName };
  if (isNode(facts, name)) {
    const attributes = { [CHAIN_TYPE]: name };
    const isAgent = !named && !STEPS.has(name) && !name.includes(".");
    return { ...inherited, start: { name: `node ${name}`, attributes, ...(isAgent && { agent: name }) } };
  }
  if (isGraph(facts.serialized)) {
    if (name !== UNNAMED && !named) return { ...inherited, start: agentStart(name) };
    return { ...inherited, start: { name: `graph ${name}`, attributes: { [CHAIN_TYPE]: name } } };
  }
  return { ...inherited, start: { name: `chain ${name}` } };
}

/** True when the program has named the agent: around the outermost run, or inside the run around this one. */
export function isNamed({ parent, under }: Pick<RunFacts, "parent" | "under">): boolean {
  if (parent === undefined) return currentScope()?.agent !== undefined;
  return parent.named || (under?.agent !== undefined && !isRunSpan(under));
}

function agentStart(name: string): SpanStart {
  return {
    name: `invoke_agent ${name}`,
    agent: name,
    attributes: { [GenAi.OperationName]: "invoke_agent", [CHAIN_TYPE]: name },
  };
}

/** Told by the namespace: in a bundled program the class may have any name. */
function isGraph(serialized: unknown): boolean {
  const id = field(serialized, "id");
  return Array.isArray(id) && id[0] === "langgraph" && id[1] === "pregel";
}

/** A node's own run has the tag of its step, which what the node calls does not have. */
function isNode({ tags, metadata }: RunFacts, name: string): boolean {
  return (
    field(metadata, "langgraph_node") === name &&
    Array.isArray(tags) &&
    tags.some((tag) => typeof tag === "string" && tag.startsWith("graph:step:"))
  );
}

/** The span of a tool; `input` is its arguments as JSON, or text. */
export function toolRunStart(facts: RunFacts, input: unknown, callId: unknown): SpanStart {
  const given = facts.runName ?? field(facts.serialized, "name") ?? className(facts.serialized);
  const name = typeof given === "string" && given !== "" ? given : "tool";
  return {
    name: `execute_tool ${name}`,
    attributes: {
      [GenAi.OperationName]: "execute_tool",
      [GenAi.ToolName]: name,
      [GenAi.ToolType]: "function",
      [GenAi.ToolArguments]: typeof input === "string" ? input : safeJson(input),
      ...(typeof callId === "string" && { [GenAi.ToolCallId]: callId }),
    },
  };
}

/** What a tool gave; of a message only its content. */
export function toolResult(output: unknown): string {
  const content = field(output, "tool_call_id") === undefined ? undefined : field(output, "content");
  return safeJson(content ?? output);
}

/** The span of a retriever. */
export function retrieverStart(facts: RunFacts, query: unknown): SpanStart {
  const name =
    typeof facts.runName === "string" ? facts.runName : (className(facts.serialized) ?? "retriever");
  return {
    name: `retrieval ${name}`,
    attributes: { [GenAi.OperationName]: "retrieval", "gen_ai.retrieval.query.text": String(query) },
  };
}
