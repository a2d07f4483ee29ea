import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { emitReward } from "../../src/capture/emit.ts";
import { agent } from "../../src/capture/operation.ts";
import { tool } from "../../src/capture/tool.ts";
import { bind } from "../../src/trace/scope.ts";
import { times } from "../times.ts";
import { collect, inRollout } from "../trace/collect.ts";

/** Ways in which a program goes on later; each must keep the rollout that it started in. */
const HOPS = {
  await: () => Promise.resolve(),
  timer: () => new Promise<void>((resolve) => setTimeout(resolve, 0)),
  immediate: () => new Promise<void>((resolve) => setImmediate(resolve)),
  nextTick: () => new Promise<void>((resolve) => process.nextTick(resolve)),
  microtask: () => new Promise<void>((resolve) => queueMicrotask(resolve)),
  shared: (() => {
    // A promise that another rollout settles.
    const waiting: Array<() => void> = [];
    return () =>
      new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length > 3) for (const go of waiting.splice(0)) go();
        else setImmediate(() => waiting.splice(0).map((go) => go()));
      });
  })(),
  stream: async () => {
    const stream = new PassThrough();
    stream.end("x");
    for await (const _ of stream);
  },
  webStream: async () => {
    for await (const _ of new Blob(["x"]).stream());
  },
} as const;

test("200 rollouts at once: no span lands in the wrong one", async () => {
  const hop = fc.constantFrom(...(Object.keys(HOPS) as Array<keyof typeof HOPS>));
  const plans = fc.array(fc.array(hop, { minLength: 1, maxLength: 5 }), { minLength: 200, maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(plans, async (all) => {
      const spans = collect();
      const step = tool("step", async (owner: string, how: keyof typeof HOPS) => {
        await HOPS[how]();
        return owner;
      });
      await Promise.all(
        all.map((plan, i) =>
          inRollout(`ro-${i}`, () =>
            agent(`agent-${i}`, async () => {
              for (const how of plan) {
                await HOPS[how]();
                await step(`ro-${i}`, how);
              }
              emitReward(i);
            }),
          ),
        ),
      );
      const byRollout = new Map<unknown, typeof spans>();
      for (const span of spans) {
        const id = span.attributes["agentlightning.rollout_id"];
        byRollout.set(id, [...(byRollout.get(id) ?? []), span]);
      }
      expect(byRollout.size).toBe(all.length);
      for (const [i, plan] of all.entries()) {
        const own = byRollout.get(`ro-${i}`) ?? [];
        // The steps, the reward, the agent.
        expect(own.map((span) => span.name)).toEqual([
          ...plan.map(() => "execute_tool step"),
          "agentlightning.annotation",
          `invoke_agent agent-${i}`,
        ]);
        expect(new Set(own.map((span) => span.spanContext().traceId)).size).toBe(1);
        expect(own.every((span) => span.attributes["agent.name"] === `agent-${i}`)).toBe(true);
        expect(own.at(-2)?.attributes["agentlightning.reward.0.value"]).toBe(i);
        for (const span of own.slice(0, -2)) {
          expect(span.attributes["gen_ai.tool.call.result"]).toBe(`"ro-${i}"`);
        }
      }
    }),
    times(8),
  );
});

test("a callback that another rollout's code calls keeps its own rollout when it is bound", () => {
  const spans = collect();
  const bus = new EventEmitter();
  const work = tool("work", () => 1);
  inRollout("listener", () => {
    bus.on(
      "bound",
      bind(() => work()),
    );
    bus.on("bare", () => work());
  });
  inRollout("emitter", () => {
    bus.emit("bound");
    bus.emit("bare");
  });
  expect(spans.map((span) => span.attributes["agentlightning.rollout_id"])).toEqual(["listener", "emitter"]);
});

test("bind passes this, arguments and the result", () => {
  const bound = bind(function (this: { x: number }, a: number) {
    return this.x + a;
  });
  expect(bound.call({ x: 1 }, 2)).toBe(3);
});
