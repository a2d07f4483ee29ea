/**
 * Agents under our SDK, with the real openai client and a real model server: the Python adapters read their spans from
 * the store and make exactly the training data that the model server's own record calls for.
 */
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createLightningStoreClient, type LightningStoreClient } from "../../src/client/client.ts";
import * as agl from "../../src/index.ts";
import { type ModelServer, type RecordedRequest, type Reply, serveModel } from "../../src/testing/index.ts";
import { messagesOf, type Step, stepOf, stepOfTriplet } from "./expected.ts";
import { python } from "./python-package.ts";
import { ALL_SERVERS, type ServedStore } from "./served-stores.ts";

type Message = OpenAI.Chat.ChatCompletionMessageParam;

const TOOLS: OpenAI.Chat.ChatCompletionFunctionTool[] = [
  {
    type: "function",
    function: {
      name: "add",
      description: "Adds two numbers",
      parameters: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      },
    },
  },
  { type: "function", function: { name: "now", parameters: { type: "object", properties: {} } } },
];

/** Answers by what the last message says, so that any order of requests gets the right one. */
const REPLIES: Record<string, Reply> = {
  "use a tool": { toolCalls: [{ name: "add", arguments: { a: 2, b: 3 } }] },
  "use two tools": {
    content: "Both at once.",
    toolCalls: [
      { name: "add", arguments: { a: 2, b: 3 } },
      { name: "now", arguments: {} },
    ],
  },
  "give two": { choices: [{ content: "first ünïcode 🌍" }, { content: "second, longer" }] },
  "5": { content: "It is 5." },
  plan: { content: "1. add them. 2. check." },
  solve: { content: "The sum is 5." },
  check: { content: "Correct." },
};

describe.each(Object.entries(ALL_SERVERS))("through %s", (_, open) => {
  let server: ServedStore;
  let model: ModelServer;
  let store: LightningStoreClient;
  let openai: OpenAI;

  beforeAll(async () => {
    server = await open();
    model = await serveModel({ reply: (request) => REPLIES[request.messages.at(-1)?.content ?? ""] });
    store = createLightningStoreClient({ url: server.url });
    agl.configure({ storeUrl: server.url, exitHooks: false });
    openai = agl.instrument(new OpenAI({ apiKey: "key", baseURL: model.url, maxRetries: 0 }));
  });
  afterAll(async () => {
    await agl.shutdown();
    await store.close();
    await server.close();
    await model.close();
  });

  /** Runs `fn` as a training rollout; gives back its id and the requests that it made. */
  async function run(fn: () => Promise<unknown>): Promise<{ id: string; requests: RecordedRequest[] }> {
    const from = model.requests.length;
    const { rolloutId, stored } = await agl.rollout({ input: "task", mode: "train" }, fn);
    expect(stored).toBe(true);
    expect(await store.getRollout(rolloutId)).toMatchObject({
      status: "succeeded",
      attempt: { status: "succeeded" },
    });
    return { id: rolloutId, requests: model.requests.slice(from) };
  }

  async function expectSteps(id: string, steps: Step[], options: object = {}): Promise<void> {
    expect((await python.triplets(server.url, id, options)).map(stepOfTriplet)).toEqual(steps);
  }

  async function expectMessages(id: string, requests: RecordedRequest[]): Promise<void> {
    expect(await python.messages(server.url, id)).toEqual(requests.map(messagesOf));
  }

  const ask = (content: string, more: object = {}) =>
    openai.chat.completions.create({
      model: "toy",
      messages: [{ role: "user", content }],
      ...more,
    } as OpenAI.Chat.ChatCompletionCreateParamsNonStreaming);

  async function drain(stream: AsyncIterable<unknown>): Promise<void> {
    for await (const _ of stream);
  }

  it("plain: each call has its ids, its log probabilities and the reward that follows it", async () => {
    const { id, requests } = await run(async () => {
      await openai.chat.completions.create({
        model: "toy",
        temperature: 0.5,
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "Hällo 🌍" },
          { role: "assistant", content: "Yes?" },
          { role: "user", content: "solve" },
        ],
      });
      agl.emitReward(0.25);
      await ask("check");
      agl.emitReward({ short: 0.5, correct: true }, { primaryKey: "correct" });
    });
    expect(requests).toHaveLength(2);
    const steps = [stepOf(requests[0]!, 0.25), stepOf(requests[1]!, 1)];
    for (const step of steps) expect(step.response.length).toBeGreaterThan(0);
    await expectSteps(id, steps);
    await expectMessages(id, requests);
    expect(await python.rewards(server.url, id)).toEqual({
      each: [
        [{ name: "primary", value: 0.25 }],
        [
          { name: "correct", value: 1 },
          { name: "short", value: 0.5 },
        ],
      ],
      final: 1,
    });
  });

  it("streamed: as exact as plain, by iteration and by the helper", async () => {
    const { id, requests } = await run(async () => {
      await drain(
        await openai.chat.completions.create({
          model: "toy",
          stream: true,
          messages: [{ role: "user", content: "plan" }],
        }),
      );
      await openai.chat.completions
        .stream({ model: "toy", messages: [{ role: "user", content: "solve" }] })
        .finalChatCompletion();
      agl.emitReward(1);
    });
    expect(requests.map((request) => request.stream)).toEqual([true, true]);
    await expectSteps(id, [stepOf(requests[0]!, null), stepOf(requests[1]!, 1)]);
    await expectMessages(id, requests);
  });

  for (const stream of [false, true]) {
    for (const first of ["use a tool", "use two tools"]) {
      it(`${first}, ${stream ? "streamed" : "plain"}: the calls are in the answer and in the next prompt`, async () => {
        const add = agl.tool("add", async ({ a, b }: { a: number; b: number }) => String(a + b));
        const clock = agl.tool("now", () => "noon");
        const { id, requests } = await run(async () => {
          const messages: Message[] = [{ role: "user", content: first }];
          for (;;) {
            const body = { model: "toy", messages, tools: TOOLS };
            const { message } = stream
              ? (await openai.chat.completions.stream(body).finalChatCompletion()).choices[0]!
              : (await openai.chat.completions.create(body)).choices[0]!;
            if (message.tool_calls === undefined || message.tool_calls.length === 0) break;
            messages.push({ role: "assistant", content: message.content, tool_calls: message.tool_calls });
            // The sum comes last, because the model answers to it.
            for (const call of [...message.tool_calls].reverse()) {
              if (call.type !== "function") continue;
              const content =
                call.function.name === "add" ? await add(JSON.parse(call.function.arguments)) : clock();
              messages.push({ role: "tool", tool_call_id: call.id, content });
            }
          }
          agl.emitReward(1);
        });
        expect(requests).toHaveLength(2);
        await expectSteps(id, [stepOf(requests[0]!, null), stepOf(requests[1]!, 1)]);
        await expectMessages(id, requests);
      });
    }
  }

  it("runTools: one step for each call of the helper's loop", async () => {
    const { id, requests } = await run(async () => {
      await openai.chat.completions
        .runTools({
          model: "toy",
          messages: [{ role: "user", content: "use a tool" }],
          tools: [
            {
              type: "function",
              function: {
                ...TOOLS[0]!.function,
                function: ({ a, b }: { a: number; b: number }) => String(a + b),
                parse: JSON.parse,
              },
            } as never,
          ],
        })
        .finalContent();
      agl.emitReward(0.5);
    });
    expect(requests).toHaveLength(2);
    await expectSteps(id, [stepOf(requests[0]!, null), stepOf(requests[1]!, 0.5)]);
    await expectMessages(id, requests);
  });

  for (const stream of [false, true]) {
    it(`n = 2, ${stream ? "streamed" : "plain"}: the first choice is trained on, both are messages`, async () => {
      const { id, requests } = await run(async () => {
        const answer = await ask("give two", { n: 2, stream });
        if (stream) await drain(answer as unknown as AsyncIterable<unknown>);
        agl.emitReward(1);
      });
      expect(requests[0]?.answer?.choices).toHaveLength(2);
      await expectSteps(id, [stepOf(requests[0]!, 1)]);
      await expectMessages(id, requests);
    });
  }

  it("structured output: parse is one step, its JSON the content", async () => {
    const schema = z.object({ sum: z.number(), steps: z.array(z.string()) });
    const { id, requests } = await run(async () => {
      const answer = await openai.chat.completions.parse({
        model: "toy",
        messages: [{ role: "user", content: "structured" }],
        response_format: zodResponseFormat(schema, "result"),
      });
      expect(answer.choices[0]?.message.parsed).toEqual(schema.parse(answer.choices[0]?.message.parsed));
      agl.emitReward(0.75);
    });
    expect(requests).toHaveLength(1);
    await expectSteps(id, [stepOf(requests[0]!, 0.75)]);
    await expectMessages(id, requests);
  });

  it("agents: every step has the name of its agent, and a pattern selects one agent's steps", async () => {
    const { id, requests } = await run(async () => {
      await agl.agent("planner", async () => {
        await ask("plan");
        await agl.agent("solver", async () => {
          await ask("solve");
          agl.emitReward(0.5);
          await ask("solve", { stream: true }).then((stream) =>
            drain(stream as unknown as AsyncIterable<unknown>),
          );
        });
        await ask("check");
      });
      await ask("check");
      agl.emitReward(1);
    });
    expect(requests).toHaveLength(5);
    const [plan, solve, again, check, last] = requests as [
      RecordedRequest,
      RecordedRequest,
      RecordedRequest,
      RecordedRequest,
      RecordedRequest,
    ];
    // Python's rule: a reward goes to the nearest call before it that has none; selected calls only.
    await expectSteps(id, [
      stepOf(plan, null, "planner"),
      stepOf(solve, 0.5, "solver"),
      stepOf(again, null, "solver"),
      stepOf(check, null, "planner"),
      stepOf(last, 1),
    ]);
    await expectSteps(id, [stepOf(solve, 0.5, "solver"), stepOf(again, 1, "solver")], {
      agent_match: "^solver$",
    });
    await expectSteps(id, [stepOf(plan, 0.5, "planner"), stepOf(check, 1, "planner")], {
      agent_match: "plan",
    });
    await expectSteps(id, [], { agent_match: "nobody" });
    await expectMessages(id, requests);
    const names = JSON.stringify(await python.tree(server.url, id));
    expect(names).toMatch(/^\["agentlightning\.rollout",/);
    expect(names).not.toContain("virtual");
  });

  it("many rollouts at once: no step is in the wrong one", async () => {
    const runs = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        agl.rollout({ input: i, mode: "train" }, async () => {
          await agl.agent(`agent-${i % 3}`, () => ask(`question ${i}`));
          const stream = await ask(`again ${i}`, { stream: i % 2 === 0 });
          if (i % 2 === 0) await drain(stream as unknown as AsyncIterable<unknown>);
          agl.emitReward(i / 16);
        }),
      ),
    );
    for (const [i, { rolloutId }] of runs.entries()) {
      const find = (text: string) =>
        model.requests.find((request) => request.messages.at(-1)?.content === text)!;
      await expectSteps(rolloutId, [
        stepOf(find(`question ${i}`), null, `agent-${i % 3}`),
        stepOf(find(`again ${i}`), i / 16),
      ]);
    }
  });
});
