/**
 * What every team of agents in these tests shares: the three roles, what the model says to each, and how a run tells the
 * test of its rewards.
 *
 * @module
 */
import type { ModelRequest, Reply } from "../../../src/testing/index.ts";

/** The names, which training selects by. */
export const AGENTS = ["planner", "solver", "critic"] as const;

export type AgentName = (typeof AGENTS)[number];

/** `turns`: one agent after the other, the solver twice. `together`: solver and critic at the same time. */
export type Order = "turns" | "together";

/** What one run of a team is told. */
export interface Run {
  order: Order;
  streamed: boolean;
  /** The team calls it each time its solver is done. */
  solved(): void;
}

/** Three agents built in one way. */
export interface Team {
  name: string;
  /** The orders that this way of building can have. */
  orders: readonly Order[];
  /** Makes the team once; `url` is that of the model. */
  open(url: string): Promise<(run: Run) => Promise<unknown>>;
}

/** What an agent is told to be; by it the test knows whose request it sees, whatever the spans say. */
export const instructions = (name: AgentName): string => `You are the ${name}.`;

/** Whose request this is. */
export function agentOf({ messages }: ModelRequest): AgentName {
  const first = messages.find(({ role }) => role === "system" || role === "developer");
  return /You are the (\w+)\./.exec(first?.content ?? "")?.[1] as AgentName;
}

/** What asks for both at once. */
export const TOGETHER = "both at once";

const call = (name: string, args: object = {}) => ({ toolCalls: [{ name, arguments: args as never }] });

/** The solver's first answer is wrong, and the critic says so. */
export function reply(request: ModelRequest): Reply {
  const { messages, tools } = request;
  const last = messages.at(-1);
  const text = last?.content ?? "";
  const handOff = (name: AgentName) => tools.find((tool) => tool === `transfer_to_${name}`);
  switch (agentOf(request)) {
    case "planner": {
      const solver = handOff("solver");
      if (solver !== undefined) return call(solver);
      if (!tools.includes("solve") || text === "right") return { content: "6 times 7" };
      if (text.includes(TOGETHER)) {
        return {
          toolCalls: [
            { name: "solve", arguments: { task: "6 times 7" } },
            { name: "check", arguments: { answer: "42" } },
          ],
        };
      }
      if (last?.role === "tool" && text.startsWith("it is")) return call("check", { answer: text });
      return call("solve", { task: `6 times 7 ${text === "again" ? text : ""}` });
    }
    case "solver": {
      const critic = handOff("critic");
      if (last?.role === "tool" && /^\d+$/.test(text)) {
        return critic === undefined ? { content: `it is ${text}` } : call(critic);
      }
      const again = messages.some(({ content }) => content.includes("again"));
      return call("multiply", { a: 6, b: again ? 7 : 8 });
    }
    default: {
      const solver = handOff("solver");
      const wrong = !messages.some(({ content }) => content.includes("42"));
      if (wrong && solver !== undefined) return { content: "again", ...call(solver) };
      return { content: wrong ? "again" : "right" };
    }
  }
}

/** The solver's tool. */
export const multiply = ({ a, b }: { a: number; b: number }): string => String(a * b);
