/**
 * A planner, a solver and a critic, built in every way that is supported: each model call carries the name of the agent
 * that made it, and the Python adapter selects by a name exactly that agent's calls.
 */
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLightningStoreClient, type LightningStoreClient } from "../../src/client/client.ts";
import * as agl from "../../src/index.ts";
import type { Span } from "../../src/protocol/span.ts";
import { type ModelServer, type RecordedRequest, serveModel } from "../../src/testing/index.ts";
import { type Step, stepOf, stepOfTriplet } from "./expected.ts";
import { python } from "./python-package.ts";
import { OUR_SERVERS, type ServedStore } from "./served-stores.ts";
import { aiSdk } from "./teams/ai-sdk.ts";
import { byHand } from "./teams/by-hand.ts";
import { langGraph } from "./teams/langgraph.ts";
import { mastra } from "./teams/mastra.ts";
import { openaiAgents } from "./teams/openai-agents.ts";
import { AGENTS, type AgentName, agentOf, instructions, type Run, reply, type Team } from "./teams/team.ts";

const TEAMS: readonly Team[] = [byHand, langGraph, openaiAgents, mastra, ...aiSdk];

let server: ServedStore;
let model: ModelServer;
let store: LightningStoreClient;
/** Holds an answer back until as many requests as the test wants at once have come. */
let together: ((request: RecordedRequest) => Promise<void>) | undefined;

beforeAll(async () => {
  server = await OUR_SERVERS["our server in memory"]!();
  model = await serveModel({
    reply: async (request) => {
      await together?.(request as RecordedRequest);
      return reply(request);
    },
  });
  store = createLightningStoreClient({ url: server.url });
  agl.configure({ storeUrl: server.url, exitHooks: false });
});
afterAll(async () => {
  await agl.shutdown();
  await store.close();
  await server.close();
  await model.close();
});

/** Lets the first requests of `parties` agents through only when all of them are there. */
function meeting(parties: number, of: (request: RecordedRequest) => unknown) {
  const met = new Set<unknown>();
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return async (request: RecordedRequest) => {
    const party = of(request);
    if (party === undefined || met.has(party)) return;
    met.add(party);
    if (met.size === parties) open();
    await opened;
  };
}

interface Reward {
  /** Number of requests that had been answered. */
  after: number;
  value: number;
}

/** Python's rule where nothing overlaps: a reward is of the nearest selected call before it that has none. */
function rewarded(selected: readonly RecordedRequest[], rewards: readonly Reward[], names: boolean): Step[] {
  const of = new Map<RecordedRequest, number>();
  for (const { after, value } of rewards) {
    const nearest = selected.findLast((request) => request.index < after && !of.has(request));
    if (nearest !== undefined) of.set(nearest, value);
  }
  return selected.map((request) =>
    stepOf(request, of.get(request) ?? null, names ? agentOf(request) : undefined),
  );
}

const steps = async (id: string, options: object): Promise<Step[]> =>
  (await python.triplets(server.url, id, options)).map(stepOfTriplet);

async function modelSpans(id: string): Promise<Span[]> {
  const { items } = await store.querySpans({ rollout_id: id, attempt_id: "latest" });
  return items.filter(({ name }) => name === "openai.chat.completion");
}

/** Each call is one span, which carries the name of the agent that made it. */
async function expectNames(id: string, requests: readonly RecordedRequest[]): Promise<void> {
  const spans = await modelSpans(id);
  const named = (calls: Array<[unknown, unknown]>) => calls.map(([a, b]) => `${a} ${b}`).sort();
  expect(
    named(spans.map(({ attributes }) => [attributes["gen_ai.response.id"], attributes["agent.name"]])),
  ).toEqual(named(requests.map((request) => [stepOf(request, null).id, agentOf(request)])));
}

describe.each(TEAMS)("$name", (team) => {
  let play: (run: Run) => Promise<unknown>;
  beforeAll(async () => {
    play = await team.open(model.url);
  });

  it.each([false, true])("one after the other, the solver twice; streamed: %s", async (streamed) => {
    const from = model.requests.length;
    const rewards: Reward[] = [];
    const reward = (value: number) => {
      rewards.push({ after: model.requests.length, value });
      agl.emitReward(value);
    };
    const { rolloutId: id } = await agl.rollout({ input: "task", mode: "train" }, async () => {
      await play({ order: "turns", streamed, solved: () => reward((rewards.length + 1) / 4) });
      reward(1);
    });
    const requests = model.requests.slice(from);
    expect(requests.every(({ stream }) => stream === streamed)).toBe(true);
    const calls = (name: string) => requests.filter((request) => agentOf(request) === name);
    expect(calls("planner").length).toBeGreaterThan(0);
    expect([calls("solver").length, calls("critic").length]).toEqual([4, 2]);
    await expectNames(id, requests);
    for (const name of AGENTS) {
      expect(await steps(id, { agent_match: name }), name).toEqual(rewarded(calls(name), rewards, true));
    }
    const all = await steps(id, {});
    expect(all.map((step) => ({ ...step, agent: "*" }))).toEqual(rewarded(requests, rewards, false));
    expect(await steps(id, { agent_match: "nobody" })).toEqual([]);
  });

  /** No order of calls is promised here, only whose they are, and that the last of each has the reward. */
  async function expectSelections(id: string, requests: readonly RecordedRequest[]): Promise<void> {
    await expectNames(id, requests);
    const spans = await modelSpans(id);
    const startOf = (step: Step) =>
      spans.find(({ attributes }) => attributes["gen_ai.response.id"] === step.id)!.start_time!;
    for (const name of [...AGENTS, undefined]) {
      const selected = requests.filter((request) => name === undefined || agentOf(request) === name);
      const wanted = selected.map((request) => stepOf(request, null, agentOf(request)));
      wanted.sort((a, b) => startOf(a) - startOf(b));
      if (wanted.length > 0) wanted.at(-1)!.reward = 1;
      const found = await steps(id, name === undefined ? {} : { agent_match: name });
      const own = (step: Step) => (name === undefined ? { ...step, agent: "" } : step);
      expect(found.map(own).sort((a, b) => startOf(a) - startOf(b))).toEqual(wanted.map(own));
    }
  }

  if (team.orders.includes("together")) {
    it.each([false, true])("solver and critic at the same time; streamed: %s", async (streamed) => {
      const from = model.requests.length;
      together = meeting(2, (request) => {
        const agent = agentOf(request);
        return agent === "planner" ? undefined : agent;
      });
      const { rolloutId: id } = await agl.rollout({ input: "task", mode: "train" }, async () => {
        await play({ order: "together", streamed, solved: () => {} });
        agl.emitReward(1);
      });
      await expectSelections(id, model.requests.slice(from));
    });
  }

  it("three teams at once in one rollout, some of them streamed", async () => {
    const from = model.requests.length;
    together = meeting(3, (request) => (agentOf(request) === "solver" ? request : undefined));
    const { rolloutId: id } = await agl.rollout({ input: "task", mode: "train" }, async () => {
      const runs = [false, true, false].map((streamed) =>
        play({ order: "turns", streamed, solved: () => {} }),
      );
      await Promise.all(runs);
      agl.emitReward(1);
    });
    await expectSelections(id, model.requests.slice(from));
  });
});

/** Python's repair of the hierarchy goes by times: it takes what runs beside an agent for a part of it. */
it("an agent's own call beside another agent's is told apart without that repair", async () => {
  const from = model.requests.length;
  together = meeting(2, agentOf);
  const openai = agl.instrument(new OpenAI({ apiKey: "key", baseURL: model.url, maxRetries: 0 }));
  const ask = (name: AgentName) =>
    openai.chat.completions.create({
      model: "toy",
      messages: [{ role: "system", content: instructions(name) }],
    });
  const { rolloutId: id } = await agl.rollout({ input: "task", mode: "train" }, () =>
    agl.agent("planner", () => Promise.all([ask("planner"), agl.agent("critic", () => ask("critic"))])),
  );
  const requests = model.requests.slice(from);
  await expectNames(id, requests);
  for (const name of ["planner", "critic"]) {
    expect(await steps(id, { agent_match: name, repair_hierarchy: false })).toEqual([
      stepOf(requests.find((request) => agentOf(request) === name)!, null, name),
    ]);
  }
});
