import { beforeEach, describe, expect, test } from "vitest";
import { agent, operation } from "../../src/capture/operation.ts";
import { tool } from "../../src/capture/tool.ts";
import { AglError } from "../../src/errors.ts";
import type { FinishedSpan } from "../../src/trace/finished-span.ts";
import { currentScope } from "../../src/trace/scope.ts";
import { collect, inRollout } from "../trace/collect.ts";

let spans: FinishedSpan[];
beforeEach(() => {
  spans = collect();
});
const recorded = (i = 0) => ({
  name: spans[i]?.name,
  args: spans[i]?.attributes["gen_ai.tool.call.arguments"],
  result: spans[i]?.attributes["gen_ai.tool.call.result"],
  outcome: spans[i]?.attributes["agentlightning.outcome"],
});

describe("tool", () => {
  test("sync: arguments and result in JSON", () => {
    const add = tool("add", (a: number, b: number) => a + b);
    expect(inRollout("r", () => add(1, 2))).toBe(3);
    expect(recorded()).toEqual({ name: "execute_tool add", args: "[1,2]", result: "3", outcome: "ok" });
  });

  test("async: a single argument is recorded as itself, as it was at the time of the call", async () => {
    const lookup = tool("lookup", async (query: { q: string }) => {
      await Promise.resolve();
      return { found: query.q };
    });
    const query = { q: "x" };
    const answer = inRollout("r", () => lookup(query));
    query.q = "changed";
    expect(await answer).toEqual({ found: "changed" });
    expect(recorded()).toEqual({
      name: "execute_tool lookup",
      args: '{"q":"x"}',
      result: '{"found":"changed"}',
      outcome: "ok",
    });
  });

  test("errors pass untouched, thrown or rejected", async () => {
    const error = new TypeError("no");
    const sync = tool("sync", () => {
      throw error;
    });
    const rejecting = tool("async", () => Promise.reject(error));
    expect(() => inRollout("r", sync)).toThrow(error);
    await expect(inRollout("r", rejecting)).rejects.toBe(error);
    expect(spans.map((span) => [span.attributes["error.type"], span.status.code])).toEqual([
      ["TypeError", 2],
      ["TypeError", 2],
    ]);
  });

  test("an async generator stays one; what it yields is the result; its body runs inside the span", async () => {
    const inner = tool("inner", () => 1);
    const count = tool("count", async function* (to: number) {
      for (let i = 1; i <= to; i++) {
        inner();
        yield i;
      }
    });
    const generator = inRollout("r", () => count(2));
    expect(Object.prototype.toString.call(generator)).toBe("[object AsyncGenerator]");
    const seen: number[] = [];
    // Consumed outside the rollout: the body must still find its own.
    for await (const i of generator) seen.push(i);
    expect(seen).toEqual([1, 2]);
    expect(spans.map((span) => span.name)).toEqual([
      "execute_tool inner",
      "execute_tool inner",
      "execute_tool count",
    ]);
    expect(recorded(2)).toEqual({ name: "execute_tool count", args: "2", result: "[1,2]", outcome: "ok" });
    expect(spans[0]?.parentSpanContext?.spanId).toBe(spans[2]?.spanContext().spanId);
  });

  test("a generator that is left early ends as cancelled; one that throws as error", async () => {
    const numbers = tool("numbers", async function* () {
      yield 1;
      throw new Error("broken");
    });
    const sync = tool("sync", function* () {
      yield 1;
      yield 2;
    });
    for await (const _ of inRollout("r", () => numbers())) break;
    await expect(
      (async () => {
        for await (const _ of inRollout("r", () => numbers()));
      })(),
    ).rejects.toThrow("broken");
    expect([...inRollout("r", () => sync())]).toEqual([1, 2]);
    expect(spans.map((span) => span.attributes["agentlightning.outcome"])).toEqual([
      "cancelled",
      "error",
      "ok",
    ]);
  });

  test("a frozen generator and a frozen lazy promise are given out as they are", async () => {
    const query = Object.freeze(new (class extends Promise<number> {})((resolve) => resolve(7)));
    const numbers = tool("numbers", () =>
      Object.freeze(
        (function* () {
          yield 1;
        })(),
      ),
    );
    expect([...inRollout("r", () => numbers())]).toEqual([1]);
    expect(await inRollout("r", () => tool("query", () => query)())).toBe(7);
    expect([recorded(0), recorded(1)]).toEqual([
      { name: "execute_tool numbers", args: "[]", result: undefined, outcome: "ok" },
      { name: "execute_tool query", args: "[]", result: undefined, outcome: "ok" },
    ]);
  });

  test("a promise of another class stays itself and lazy", async () => {
    let runs = 0;
    class Query {
      // biome-ignore lint/suspicious/noThenProperty: a lazy query, as database clients have.
      then(ok: (value: number) => unknown) {
        runs += 1;
        return Promise.resolve(ok(7));
      }
    }
    const query = tool("query", () => new Query());
    const result = inRollout("r", () => query());
    expect(result).toBeInstanceOf(Query);
    expect([runs, spans.length]).toEqual([0, 0]);
    expect(await result).toBe(7);
    expect([runs, recorded().result]).toEqual([1, "7"]);
  });

  test("name, length, own properties and this stay", () => {
    function weigh(this: { factor: number }, a: number) {
      return this.factor * a;
    }
    weigh.schema = { type: "object" };
    const wrapped = tool("weigh", weigh);
    expect([wrapped.name, wrapped.length, wrapped.schema]).toEqual(["weigh", 1, { type: "object" }]);
    expect(inRollout("r", () => wrapped.call({ factor: 3 }, 2))).toBe(6);
  });

  test("arguments that JSON cannot carry do not break the call", () => {
    const echo = tool("echo", (value: unknown) => value);
    const circular: { self?: unknown } = {};
    circular.self = circular;
    expect(inRollout("r", () => echo(circular))).toBe(circular);
    expect(recorded().args).toBe('{"self":"(circular)"}');
  });

  test("outside a rollout the function is only called", async () => {
    const error = new Error("no");
    expect(tool("x", () => 1)()).toBe(1);
    await expect(tool("x", () => Promise.reject(error))()).rejects.toBe(error);
    expect(spans).toHaveLength(0);
  });

  test("an unhandled rejection stays unhandled, once", async () => {
    const seen: unknown[] = [];
    const listeners = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    const arrived = new Promise<void>((resolve) => {
      process.on("unhandledRejection", (reason) => {
        seen.push(reason);
        setImmediate(resolve);
      });
    });
    const error = new Error("nobody waits");
    void inRollout("r", () => tool("x", () => Promise.reject(error))());
    await arrived;
    process.removeAllListeners("unhandledRejection");
    for (const listener of listeners) process.on("unhandledRejection", listener);
    expect(seen).toEqual([error]);
  });

  test("a wrong name or function is refused at once", () => {
    for (const make of [
      () => tool("", () => 1),
      () => tool("x", null as never),
      () => operation("", () => 1),
    ]) {
      expect(make).toThrow(AglError);
    }
  });
});

test("operation: arguments and result flattened by upstream's names", () => {
  inRollout("r", () =>
    operation("rank", (a: { b: number }, list: string[]) => ({ best: list[a.b] }))({ b: 1 }, ["x", "y"]),
  );
  expect(spans[0]?.name).toBe("agentlightning.operation");
  expect(spans[0]?.attributes).toMatchObject({
    "agentlightning.operation.name": "rank",
    "agentlightning.operation.input.args.0.b": 1,
    "agentlightning.operation.input.args.1.0": "x",
    "agentlightning.operation.output.best": "y",
  });
});

describe("agent", () => {
  test("every span inside carries the innermost agent's name and hangs under it", async () => {
    const work = tool("work", () => 1);
    await inRollout("r", () =>
      agent("outer", async () => {
        work();
        await agent("inner", async () => {
          await Promise.resolve();
          work();
        });
        work();
      }),
    );
    expect(spans.map((span) => [span.name, span.attributes["agent.name"]])).toEqual([
      ["execute_tool work", "outer"],
      ["execute_tool work", "inner"],
      ["invoke_agent inner", "inner"],
      ["execute_tool work", "outer"],
      ["invoke_agent outer", "outer"],
    ]);
    const id = (i: number) => spans[i]?.spanContext().spanId;
    expect(spans.map((span) => span.parentSpanContext?.spanId)).toEqual([
      id(4),
      id(2),
      id(4),
      id(4),
      undefined,
    ]);
  });

  test("gives back what the function gives, sync too, and keeps the name where nothing is recorded", async () => {
    expect(agent("a", () => 5)).toBe(5);
    expect(agent("a", () => currentScope()?.agent)).toBe("a");
    expect(await inRollout("r", () => agent("a", async () => 6))).toBe(6);
    const error = new Error("x");
    expect(() =>
      inRollout("r", () =>
        agent("a", () => {
          throw error;
        }),
      ),
    ).toThrow(error);
  });
});
