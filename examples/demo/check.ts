/**
 * Compares the store's account of a rollout with the program's own, and says each thing that does not add up.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { readReward } from "../../src/protocol/reward.ts";
import { AGENT_NAME, Agl, GenAi, SpanName, Tokens } from "../../src/protocol/semconv.ts";
import type { Span } from "../../src/protocol/span.ts";
import { completionText, decode } from "../../src/testing/index.ts";
import type { CallEntry, RolloutEntry } from "./ledger.ts";
import type { StoredRollout } from "./read-back.ts";

const spanLabel = (span: Span) => `span ${span.span_id} (${span.name})`;
const callLabel = (call: CallEntry) => `call ${call.responseId} of the ${call.agent}`;
const isTool = (span: Span) => span.name.startsWith("execute_tool ");

/** The text of a call's prompt as the model server's template writes it, without its marks. */
function promptText({ messages, tools }: CallEntry): string {
  const offered = tools.length > 0 ? JSON.stringify(tools) : "";
  return (
    offered +
    messages.map((message) => completionText(message as Parameters<typeof completionText>[0])).join("")
  );
}

function* checkState(entry: RolloutEntry, { rollout }: StoredRollout): Generator<string> {
  if (rollout.status !== "succeeded") yield `its status is ${rollout.status}, not succeeded`;
  if (rollout.attempt.status !== "succeeded")
    yield `its attempt's status is ${rollout.attempt.status}, not succeeded`;
  if (rollout.attempt.attempt_id !== entry.attemptId) {
    yield `its attempt is ${rollout.attempt.attempt_id}, but the program ran as ${entry.attemptId}`;
  }
  if (rollout.input !== entry.problem)
    yield `its input is ${JSON.stringify(rollout.input)}, not the problem's text`;
}

/** One root, every parent among the spans, children within their parents' time. */
function* checkTree(entry: RolloutEntry, spans: readonly Span[]): Generator<string> {
  const byId = new Map(spans.map((span) => [span.span_id, span]));
  const roots = spans.filter((span) => span.parent_id === null);
  if (roots.length !== 1 || roots[0]!.name !== SpanName.Rollout) {
    yield `it has ${roots.length} roots (${roots.map((span) => span.name).join(", ")}), not one ${SpanName.Rollout}`;
  }
  for (const span of spans) {
    if (span.rollout_id !== entry.rolloutId || span.attempt_id !== entry.attemptId) {
      yield `${spanLabel(span)} belongs to ${span.rollout_id} ${span.attempt_id}`;
    }
    if (span.start_time === null || span.end_time === null || span.end_time < span.start_time) {
      yield `${spanLabel(span)} has no proper start and end`;
    }
    if (span.trace_id !== spans[0]!.trace_id) yield `${spanLabel(span)} is in another trace`;
    if (span.parent_id === null) continue;
    const parent = byId.get(span.parent_id);
    if (parent === undefined)
      yield `the parent of ${spanLabel(span)}, ${span.parent_id}, is not in the store`;
    else if (span.start_time! < parent.start_time! || span.end_time! > parent.end_time!) {
      yield `${spanLabel(span)} is not within the time of its parent, ${spanLabel(parent)}`;
    }
  }
}

/** Sequence ids rise, and so do the start times of model calls and tool calls taken in that order. */
function* checkOrder(spans: readonly Span[]): Generator<string> {
  for (const [index, span] of spans.entries()) {
    const before = spans[index - 1];
    if (before !== undefined && span.sequence_id <= before.sequence_id) {
      yield `${spanLabel(span)} has sequence id ${span.sequence_id}, after ${before.sequence_id}`;
    }
  }
  const work = spans.filter((span) => span.name === SpanName.ModelCall || isTool(span));
  for (const [index, span] of work.entries()) {
    const before = work[index - 1];
    if (before !== undefined && span.start_time! <= before.start_time!) {
      yield `${spanLabel(span)} stands after ${spanLabel(before)}, but started before it`;
    }
  }
}

/** The span's parent is its agent's span, and that one's parent is the root. */
function* checkPlace(span: Span, agent: string, label: string, spans: readonly Span[]): Generator<string> {
  const name = span.attributes[AGENT_NAME];
  if (name !== agent) yield `${label} carries the agent name ${JSON.stringify(name)}`;
  const parent = spans.find((other) => other.span_id === span.parent_id);
  if (parent?.name !== `invoke_agent ${agent}`) {
    yield `${label} has the parent ${parent?.name ?? span.parent_id}, not the span of its agent`;
    return;
  }
  const root = spans.find((other) => other.span_id === parent.parent_id);
  if (root?.name !== SpanName.Rollout) yield `${label}: its agent's span is not a child of the root`;
}

function ids(span: Span, attribute: string): number[] {
  const value = span.attributes[attribute];
  return Array.isArray(value) ? (value as number[]) : [];
}

function* checkTokens(call: CallEntry, span: Span): Generator<string> {
  const label = callLabel(call);
  const sides = [
    {
      side: "prompt",
      attribute: Tokens.Prompt,
      usage: GenAi.InputTokens,
      count: call.promptTokens,
      text: promptText(call),
    },
    {
      side: "completion",
      attribute: Tokens.Response,
      usage: GenAi.OutputTokens,
      count: call.completionTokens,
      text: completionText(call.message),
    },
  ];
  for (const { side, attribute, usage, count, text } of sides) {
    const found = ids(span, attribute);
    if (found.length !== count) yield `${label} has ${found.length} ${side} ids, but its usage says ${count}`;
    if (decode(found) !== text)
      yield `${label}: its ${side} ids do not decode to the text that the program saw`;
    if (span.attributes[usage] !== count) {
      yield `${label}: ${usage} is ${span.attributes[usage]}, but the program saw ${count}`;
    }
  }
  const logprobs = span.attributes[Tokens.Logprobs];
  const scored: unknown = typeof logprobs === "string" ? JSON.parse(logprobs) : [];
  if (!Array.isArray(scored) || scored.length !== call.completionTokens) {
    yield `${label} has no log probability for each of its completion ids`;
  }
  const mismatch = span.attributes[Agl.TokenMismatch];
  if (mismatch !== undefined) yield `${label} is marked as not to be trained on: ${mismatch}`;
}

function* checkCalls(entry: RolloutEntry, spans: readonly Span[]): Generator<string> {
  const stored = spans.filter((span) => span.name === SpanName.ModelCall);
  const idOf = (span: Span) => String(span.attributes[GenAi.ResponseId]);
  for (const call of entry.calls) {
    const found = stored.filter((span) => idOf(span) === call.responseId);
    if (found.length !== 1) yield `${callLabel(call)} is in the store ${found.length} times, not once`;
    for (const span of found) {
      yield* checkPlace(span, call.agent, callLabel(call), spans);
      yield* checkTokens(call, span);
      if ((span.attributes[GenAi.RequestStream] === true) !== call.streamed) {
        yield `${callLabel(call)} was ${call.streamed ? "" : "not "}streamed, but the store says otherwise`;
      }
    }
  }
  const seen = entry.calls.map((call) => call.responseId);
  for (const span of stored) {
    if (!seen.includes(idOf(span))) yield `${spanLabel(span)} is a model call that the program never made`;
  }
  const order = stored.map(idOf).filter((id) => seen.includes(id));
  const expected = seen.filter((id) => order.includes(id));
  if (!isDeepStrictEqual(order, expected)) {
    yield `the model calls stand in the order ${order.join(", ")}, but were made in the order ${expected.join(", ")}`;
  }
}

function parsed(value: unknown): unknown {
  return typeof value === "string" ? JSON.parse(value) : undefined;
}

function* checkTools(entry: RolloutEntry, spans: readonly Span[]): Generator<string> {
  const stored = spans.filter(isTool);
  if (stored.length !== entry.tools.length) {
    yield `it has ${stored.length} tool calls, but the program made ${entry.tools.length}`;
  }
  for (const [index, tool] of entry.tools.entries()) {
    const span = stored[index];
    if (span === undefined) return;
    const label = `tool call ${index + 1} (${tool.name})`;
    yield* checkPlace(span, tool.agent, label, spans);
    if (span.attributes[GenAi.ToolName] !== tool.name) yield `${label} is stored as ${span.name}`;
    if (!isDeepStrictEqual(parsed(span.attributes[GenAi.ToolArguments]), tool.arguments)) {
      yield `${label} has the arguments ${span.attributes[GenAi.ToolArguments]}`;
    }
    if (!isDeepStrictEqual(parsed(span.attributes[GenAi.ToolResult]), tool.result)) {
      yield `${label} has the result ${span.attributes[GenAi.ToolResult]}, but the program saw ${tool.result}`;
    }
    const failed = tool.result === undefined;
    if ((span.status.status_code === "ERROR") !== failed) {
      yield `${label} ${failed ? "failed" : "succeeded"}, but its status is ${span.status.status_code}`;
    }
  }
}

function* checkReward(entry: RolloutEntry, spans: readonly Span[]): Generator<string> {
  const rewards = spans.filter((span) => readReward(span).length > 0);
  if (rewards.length !== 1) yield `it has ${rewards.length} rewards, but the program emitted one`;
  for (const span of rewards) {
    const show = (reward: RolloutEntry["reward"]) =>
      reward.map(({ name, value }) => `${name}=${value}`).join(" ");
    const found = readReward(span);
    if (!isDeepStrictEqual(found, entry.reward)) {
      yield `its reward is ${show(found)}, but the program emitted ${show(entry.reward)}`;
    }
    const late = spans.find(
      (other) => other.name === SpanName.ModelCall && other.end_time! > span.start_time!,
    );
    if (late !== undefined) yield `its reward stands before the end of ${spanLabel(late)}`;
    const parent = spans.find((other) => other.span_id === span.parent_id);
    if (parent?.name !== SpanName.Rollout) yield "its reward is not a child of the root";
  }
}

/** What does not add up in one rollout; empty when everything does. */
export function checkRollout(entry: RolloutEntry, stored: StoredRollout): string[] {
  const { spans } = stored;
  return [
    ...checkState(entry, stored),
    ...checkTree(entry, spans),
    ...checkOrder(spans),
    ...checkCalls(entry, spans),
    ...checkTools(entry, spans),
    ...checkReward(entry, spans),
  ];
}

/** What does not add up in all; each line names its rollout. */
export function checkAll(entries: readonly RolloutEntry[], stored: readonly StoredRollout[]): string[] {
  const faults: string[] = [];
  for (const entry of entries) {
    const found = stored.find(({ rollout }) => rollout.rollout_id === entry.rolloutId);
    const said = found === undefined ? ["it is not in the store"] : checkRollout(entry, found);
    faults.push(...said.map((fault) => `${entry.rolloutId}: ${fault}`));
  }
  const known = new Set(entries.map((entry) => entry.rolloutId));
  for (const { rollout } of stored) {
    if (!known.has(rollout.rollout_id)) faults.push(`${rollout.rollout_id}: the program never ran it`);
  }
  return faults;
}
