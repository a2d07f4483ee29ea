/**
 * One rollout of the demo, as the program saw it and as the store has it, written by hand so that both agree.
 *
 * @module
 */
import type { CallEntry, RolloutEntry, ToolEntry } from "../../examples/demo/ledger.ts";
import type { StoredRollout } from "../../examples/demo/read-back.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import type { Span } from "../../src/protocol/span.ts";
import { completionText, END_ID, encode } from "../../src/testing/index.ts";

const ROLLOUT = "ro-1";
const ATTEMPT = "at-1";
const TRACE = "0".repeat(32);
const tool = { type: "function" as const, function: { name: "calculator", parameters: {} } };

function call(agent: string, responseId: string, streamed: boolean, rest: Partial<CallEntry>): CallEntry {
  const entry: CallEntry = {
    agent,
    responseId,
    streamed,
    messages: [{ role: "user", content: `ask ${responseId}` }],
    tools: agent === "solver" ? [tool] : [],
    message: { role: "assistant", content: `say ${responseId}` },
    promptTokens: 0,
    completionTokens: 0,
    ...rest,
  };
  return { ...entry, promptTokens: promptIds(entry).length, completionTokens: completionIds(entry).length };
}

function promptIds({ messages, tools }: CallEntry): number[] {
  const text = (tools.length > 0 ? JSON.stringify(tools) : "") + messages.map((m) => m.content).join("");
  return encode(text);
}

const completionIds = ({ message }: CallEntry) => [...encode(completionText(message)), END_ID];

/** The program's own account: a plan, two calculator calls of which one fails, an answer, a reward. */
export function entry(): RolloutEntry {
  const call1 = {
    id: "c1",
    type: "function" as const,
    function: { name: "calculator", arguments: '{"e":"1+1"}' },
  };
  const call2 = {
    id: "c2",
    type: "function" as const,
    function: { name: "calculator", arguments: '{"e":"1×1"}' },
  };
  return {
    rolloutId: ROLLOUT,
    attemptId: ATTEMPT,
    problem: "1 + 1?",
    calls: [
      call("planner", "chatcmpl-1", true, {}),
      call("solver", "chatcmpl-2", false, {
        message: { role: "assistant", content: null, tool_calls: [call1, call2] },
      }),
      call("solver", "chatcmpl-3", true, {}),
    ],
    tools: [
      { agent: "solver", name: "calculator", arguments: { e: "1+1" }, result: 2 },
      { agent: "solver", name: "calculator", arguments: { e: "1×1" }, result: undefined },
    ],
    reward: [
      { name: "correct", value: 1 },
      { name: "short", value: 0.25 },
    ],
  };
}

interface Place {
  id: string;
  parent: string | null;
  /** Start and end in seconds. */
  time: [number, number];
  status?: Span["status"]["status_code"];
}

function span(name: string, { id, parent, time, status = "OK" }: Place, attributes: JsonObject): Span {
  return {
    rollout_id: ROLLOUT,
    attempt_id: ATTEMPT,
    sequence_id: 0,
    trace_id: TRACE,
    span_id: id,
    parent_id: parent,
    name,
    status: { status_code: status, description: null },
    attributes,
    events: [],
    links: [],
    start_time: time[0],
    end_time: time[1],
    context: null,
    parent: null,
    resource: { attributes: {}, schema_url: "" },
  };
}

function callSpan(call: CallEntry, place: Place): Span {
  const ids = completionIds(call);
  return span("openai.chat.completion", place, {
    "agent.name": call.agent,
    "gen_ai.response.id": call.responseId,
    "gen_ai.request.stream": call.streamed,
    "gen_ai.usage.input_tokens": call.promptTokens,
    "gen_ai.usage.output_tokens": call.completionTokens,
    prompt_token_ids: promptIds(call),
    response_token_ids: ids,
    "logprobs.content": JSON.stringify(ids.map((id) => ({ token: String(id), logprob: -1 }))),
  });
}

function toolSpan(tool: ToolEntry, place: Place): Span {
  const result: JsonObject =
    tool.result === undefined ? {} : { "gen_ai.tool.call.result": JSON.stringify(tool.result) };
  return span(`execute_tool ${tool.name}`, place, {
    "agent.name": tool.agent,
    "gen_ai.tool.name": tool.name,
    "gen_ai.tool.call.arguments": JSON.stringify(tool.arguments),
    ...result,
  });
}

/** The store's account of {@link entry}, spans in the order of their ends. */
export function stored(): StoredRollout {
  const { calls, tools, reward, problem } = entry();
  const rewardAttributes = Object.fromEntries(
    reward.flatMap(({ name, value }, i) => [
      [`agentlightning.reward.${i}.name`, name],
      [`agentlightning.reward.${i}.value`, value],
    ]),
  );
  const agent = (name: string, place: Place) => span(`invoke_agent ${name}`, place, { "agent.name": name });
  const spans = [
    callSpan(calls[0]!, { id: "call1", parent: "planner", time: [2, 3] }),
    agent("planner", { id: "planner", parent: "root", time: [1, 4] }),
    callSpan(calls[1]!, { id: "call2", parent: "solver", time: [6, 7] }),
    toolSpan(tools[0]!, { id: "tool1", parent: "solver", time: [8, 9] }),
    toolSpan(tools[1]!, { id: "tool2", parent: "solver", time: [10, 11], status: "ERROR" }),
    callSpan(calls[2]!, { id: "call3", parent: "solver", time: [12, 13] }),
    agent("solver", { id: "solver", parent: "root", time: [5, 14] }),
    span("agentlightning.annotation", { id: "reward", parent: "root", time: [15, 15.5] }, rewardAttributes),
    span("agentlightning.rollout", { id: "root", parent: null, time: [0, 16] }, {}),
  ].map((one, index) => ({ ...one, sequence_id: index + 1 }));
  return {
    rollout: {
      rollout_id: ROLLOUT,
      input: problem,
      start_time: 0,
      end_time: 16,
      mode: "train",
      resources_id: null,
      status: "succeeded",
      config: { timeout_seconds: null, unresponsive_seconds: null, max_attempts: 1, retry_condition: [] },
      metadata: null,
      attempt: {
        rollout_id: ROLLOUT,
        attempt_id: ATTEMPT,
        sequence_id: 1,
        start_time: 0,
        end_time: 16,
        status: "succeeded",
        worker_id: null,
        last_heartbeat_time: null,
        metadata: null,
      },
    },
    spans,
  };
}
