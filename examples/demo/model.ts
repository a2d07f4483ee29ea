/**
 * The demo's "model": reads the words of a problem by a few rules, some of them wrong, and answers as a planner or as a
 * solver. It knows nothing but the conversation that it is sent.
 *
 * @module
 */
import type { ModelMessage, ModelRequest, Reply } from "../../src/testing/index.ts";

interface Rule {
  /** Words that the rule goes by. */
  cue: RegExp;
  /** Steps from the numbers in the text; `#1` is the result of step 1. */
  steps(...numbers: string[]): string[];
}

// Three rules are wrong on purpose (marked), so that rewards differ and there is something to learn.
const RULES: readonly Rule[] = [
  { cue: /left over/, steps: (all, size) => [`${all} / ${size}`] }, // wrong: the remainder is asked for
  { cue: /twice as many/, steps: (one) => [`2 * ${one}`] }, // wrong: both together are asked for
  {
    cue: /and then by another/,
    steps: (start, first, second) => [`${first} + ${second}`, `${start} * #1 / 100`, `${start} + #2`], // wrong: percents compound
  },
  { cue: /% off/, steps: (price, percent) => [`${price} * ${percent} / 100`, `${price} - #1`] },
  { cue: /% tip/, steps: (price, percent) => [`${price} * ${percent} / 100`, `${price} + #1`] },
  { cue: /average/, steps: (a, b, c) => [`${a} + ${b} + ${c}`, "#1 / 3"] },
  { cue: /area/, steps: (a, b) => [`${a} × ${b}`] },
  { cue: /fence/, steps: (a, b) => [`${a} + ${b}`, "2 * #1"] },
  { cue: /altogether/, steps: (n, a, m, b) => [`${n} * ${a}`, `${m} * ${b}`, "#1 + #2"] },
  { cue: /change/, steps: (paid, n, price) => [`${n} * ${price}`, `${paid} - #1`] },
  { cue: /equally/, steps: (all, parts) => [`${all} / ${parts}`] },
  { cue: /years older/, steps: (age, more) => [`${age} + ${more}`, `${age} + #1`] },
  {
    cue: /at that rate/i,
    steps: (made, time, wanted) => [`${made} / ${time}`, `#1 * ${wanted}`],
  },
  { cue: /pages a day/, steps: (all, read, days) => [`${all} - ${read}`, `#1 / ${days}`] },
  { cue: /degrees/, steps: (from, fall) => [`${from} - ${fall}`] },
];

function plan(problem: string): Reply {
  const numbers = problem.match(/\d+(?:\.\d+)?/g) ?? [];
  const rule = RULES.find(({ cue }) => cue.test(problem));
  const steps = rule?.steps(...numbers) ?? ["0"];
  return { content: steps.map((step, index) => `${index + 1}. ${step}`).join("\n") };
}

interface Progress {
  /** Results by step. */
  results: Map<string, string>;
  /** Expressions that the calculator refused, by step. */
  refused: Map<string, string>;
}

/** What the calculator has said so far: its answers stand in the order of the calls. */
function progressOf(messages: readonly ModelMessage[]): Progress {
  const calls = messages.flatMap((message) => message.toolCalls);
  const answers = messages.filter((message) => message.role === "tool");
  const progress: Progress = { results: new Map(), refused: new Map() };
  for (const [index, call] of calls.entries()) {
    const { step, expression } = JSON.parse(call.arguments) as { step: string; expression: string };
    const answer = answers[index]?.content ?? "";
    if (answer.startsWith("error")) progress.refused.set(step, expression);
    else progress.results.set(step, answer);
  }
  return progress;
}

function solve(messages: readonly ModelMessage[]): Reply {
  const written = messages.find((message) => message.role === "user")?.content ?? "";
  const steps = [...written.matchAll(/^(\d+)\. (.+)$/gm)].map(([, step, text]) => ({
    step: step!,
    text: text!,
  }));
  const { results, refused } = progressOf(messages);
  const toolCalls = [];
  for (const { step, text } of steps) {
    if (results.has(step)) continue;
    const known = text.replaceAll(/#(\d+)/g, (reference, earlier) => results.get(earlier) ?? reference);
    // A step that builds on an unknown result waits; all others are called at once, in parallel.
    if (known.includes("#")) continue;
    const expression = refused.has(step) ? known.replaceAll("×", "*") : known;
    toolCalls.push({ name: "calculator", arguments: { step, expression } });
  }
  if (toolCalls.length > 0) return { content: null, toolCalls };
  return { content: `Answer: ${results.get(String(steps.length)) ?? "unknown"}` };
}

/** The reply to a request. */
export function reply(request: ModelRequest): Reply {
  if (request.tools.includes("calculator")) return solve(request.messages);
  return plan(request.messages.at(-1)?.content ?? "");
}
