import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { DiagLogLevel, diag } from "@opentelemetry/api";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { instrument } from "../../src/capture/instrument.ts";
import { startSpan } from "../../src/trace/recorder.ts";
import { currentScope, withScope } from "../../src/trace/scope.ts";
import { behindProxy, record, turn } from "./recorded.ts";
import { type AnyClient, BUILDS, OLDEST } from "./versions.ts";
import { chat, HELLO, response } from "./wire-samples.ts";
import { serveWire, type WireServer } from "./wire-server.ts";

const WRAPPED = Symbol.for("agentlightning.wrapped");
const ask = { model: "toy", messages: [{ role: "user", content: "Hi" }] };
const hi = { json: chat({ content: "hi" }) };

let server: WireServer;
let warnings: string[];
beforeAll(async () => {
  server = await serveWire();
});
afterAll(() => server.close());
beforeEach(() => {
  warnings = [];
  const none = () => {};
  diag.setLogger(
    { warn: (text) => void warnings.push(text), error: none, info: none, debug: none, verbose: none },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
});
afterEach(() => diag.disable());

describe.each([...BUILDS, OLDEST])("$name", (build) => {
  const clientOf = async (more: object = {}): Promise<AnyClient> => {
    const { OpenAI } = await build.load();
    return new OpenAI({ apiKey: "key", baseURL: server.url, maxRetries: 0, ...more });
  };

  test("twice changes nothing", async () => {
    const client = instrument(await clientOf());
    const { create } = client.chat.completions;
    expect(instrument(client)).toBe(client);
    expect(client.chat.completions.create).toBe(create);
    server.play(hi);
    expect((await record(async () => client.chat.completions.create(ask))).spans).toHaveLength(1);
  });

  test("the patched methods are own, hidden and marked", async () => {
    const client = await clientOf();
    const original = client.chat.completions.create;
    const keys = [Object.keys(client), Object.keys(client.chat.completions)];
    instrument(client);
    expect([Object.keys(client), Object.keys(client.chat.completions)]).toEqual(keys);
    expect(Object.getOwnPropertyDescriptor(client.chat.completions, "create")).toMatchObject({
      enumerable: false,
      configurable: true,
      writable: true,
    });
    expect(client.chat.completions.create[WRAPPED]).toBe(original);
    expect([client.chat.completions.create.name, client.chat.completions.create.length]).toEqual([
      original.name,
      original.length,
    ]);
  });

  test("a client behind a proxy is recorded once", async () => {
    const client = instrument(instrument(behindProxy(await clientOf())));
    server.play(hi);
    const { value, spans } = await record(async () => client.chat.completions.create(ask));
    expect(value).toMatchObject({ choices: [{ message: { content: "hi" } }] });
    expect(spans).toHaveLength(1);
  });

  test("other clients of the same class stay bare", async () => {
    const bare = await clientOf();
    instrument(await clientOf());
    server.play(hi);
    expect((await record(async () => bare.chat.completions.create(ask))).spans).toEqual([]);
  });

  test("a frozen resource is left alone, with one warning", async () => {
    const client = await clientOf();
    Object.freeze(client.chat.completions);
    instrument(client);
    instrument(client);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("frozen");
    server.play(hi);
    expect((await record(async () => client.chat.completions.create(ask))).spans).toEqual([]);
  });

  test("a suppressed scope is not recorded, others at the same time are", async () => {
    const client = instrument(await clientOf());
    server.play(hi);
    const { spans } = await record(() =>
      Promise.all([
        withScope({ suppressed: true }, () => client.chat.completions.create(ask)),
        client.chat.completions.create(ask),
      ]),
    );
    expect(spans).toHaveLength(1);
  });

  test("the span's parent and agent are those of the call", async () => {
    const client = instrument(await clientOf());
    server.play(hi);
    const { spans } = await record(async () => {
      const outer = startSpan({ name: "outer" })!;
      await withScope({ span: outer, agent: "solver" }, async () => {
        await client.chat.completions.create(ask);
        expect(currentScope()?.span).toBe(outer);
      });
      outer.end();
    });
    const [call, outer] = spans;
    expect(call!.parentSpanContext?.spanId).toBe(outer!.spanContext().spanId);
    expect(call!.attributes).toMatchObject({ "agent.name": "solver", "gen_ai.agent.name": "solver" });
  });

  test("a proxy is used and nothing is recorded", async () => {
    const client = await clientOf({ baseURL: "http://127.0.0.1:1/v1", apiKey: "other" });
    instrument(client, { proxy: { baseURL: server.url, apiKey: "scoped" } });
    const requests = server.play(hi);
    const { value, spans } = await record(async () => client.chat.completions.create(ask));
    expect(value.choices[0].message.content).toBe("hi");
    expect(spans).toEqual([]);
    expect(requests[0]!.headers["authorization"]).toBe("Bearer scoped");
    if (typeof client.withOptions !== "function") return;
    await client.withOptions({ timeout: 5000 }).chat.completions.create(ask);
    expect(requests[1]!.headers["authorization"]).toBe("Bearer scoped");
  });

  test("without capture nothing is recorded", async () => {
    const client = instrument(await clientOf(), { capture: false });
    server.play(hi);
    expect((await record(async () => client.chat.completions.create(ask))).spans).toEqual([]);
  });

  test("an Azure client", async () => {
    const { AzureOpenAI } = await build.load();
    if (AzureOpenAI === undefined) {
      expect(build).toBe(OLDEST);
      return;
    }
    const options = { apiKey: "key", baseURL: server.url, apiVersion: "2026-01-01", deployment: "d" };
    const client = instrument(new AzureOpenAI(options));
    const requests = server.play(hi);
    const { spans } = await record(async () => client.chat.completions.create(ask));
    expect(requests[0]!.path).toContain("/deployments/d/chat/completions");
    expect(spans[0]!.attributes).toMatchObject({ "gen_ai.completion.0.content": "hi" });
  });

  test("a Bedrock client, whose responses are made by its constructor", async () => {
    const { BedrockOpenAI } = await build.load();
    if (BedrockOpenAI === undefined) {
      expect(build.major).toBeLessThan(6);
      return;
    }
    const options = { apiKey: "key", awsRegion: "us-east-1", baseURL: server.url, maxRetries: 0 };
    const client = instrument(new BedrockOpenAI(options));
    server.play({ json: response("hi") });
    const { outcomes } = await record(async () => {
      await client.responses.create({ model: "toy", input: "Hi" });
      await client.withOptions({ timeout: 5000 }).responses.create({ model: "toy", input: "Hi" });
    });
    expect(outcomes).toEqual(["ok", "ok"]);
  });

  test("a user's own prepareRequest is called as before", async () => {
    const { OpenAI } = await build.load();
    const calls: unknown[] = [];
    class Mine extends OpenAI {
      async prepareRequest(request: { body: string; headers: unknown }, about: { url: string }) {
        calls.push([this instanceof Mine, typeof request.body, about.url]);
      }
    }
    const client: AnyClient = instrument(new Mine({ apiKey: "key", baseURL: server.url }));
    server.play(hi);
    const { spans } = await record(async () => client.chat.completions.create(ask));
    expect(calls).toEqual([[true, "string", `${server.url}/chat/completions`]]);
    expect(spans[0]!.attributes).toMatchObject({ "gen_ai.prompt.0.content": "Hi" });
  });

  test("the answer and each chunk come in the same turn of the microtask queue", async () => {
    const fetch = async (_url: unknown, init: { body: string }) => {
      if (JSON.parse(init.body).stream !== true) {
        return new Response(JSON.stringify(hi.json), { headers: { "content-type": "application/json" } });
      }
      const events = `${HELLO.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
      return new Response(events, { headers: { "content-type": "text/event-stream" } });
    };
    const turnsOf = async (client: AnyClient) => {
      let turns = 0;
      let running = true;
      const count = async () => {
        while (running) {
          await null;
          turns++;
        }
      };
      const marks: number[] = [];
      const counting = count();
      await client.chat.completions.create(ask);
      marks.push(turns);
      turns = 0;
      for await (const _ of await client.chat.completions.create({ ...ask, stream: true })) marks.push(turns);
      marks.push(turns);
      running = false;
      await counting;
      return marks;
    };
    // The first calls of a process load things; those after it take the same way each time.
    await turnsOf(await clientOf({ fetch }));
    const bare = await turnsOf(await clientOf({ fetch }));
    const client = instrument(await clientOf({ fetch }));
    const { value, spans } = await record(() => turnsOf(client));
    expect(spans).toHaveLength(2);
    expect(value).toEqual(bare);
  });
});

describe("other objects with the methods of a client", () => {
  const plain = (create: (body: object) => unknown) => ({ chat: { completions: { create } } });

  test("a plain object whose method gives a promise", async () => {
    const answer = chat({ content: "hi" });
    const client = instrument(plain(async () => answer));
    const { value, spans } = await record(() => client.chat.completions.create(ask));
    expect(value).toBe(answer);
    expect(spans[0]!.attributes).toMatchObject({
      "gen_ai.prompt.0.content": "Hi",
      "gen_ai.completion.0.content": "hi",
      response_token_ids: [10, 20],
    });
  });

  test("a promise with methods of its own stays itself", async () => {
    const promise = Object.assign(Promise.resolve(chat({ content: "hi" })), { withResponse: () => 1 });
    const client = instrument(plain(() => promise));
    const { outcomes } = await record(async () => {
      const got = client.chat.completions.create(ask);
      expect(got).toBe(promise);
      await got;
    });
    expect(outcomes).toEqual(["ok"]);
  });

  test("a method that gives the answer itself", async () => {
    const answer = chat({ content: "hi" });
    const client = instrument(plain(() => answer));
    const { value, outcomes } = await record(() => client.chat.completions.create(ask));
    expect([value, outcomes]).toEqual([answer, ["ok"]]);
  });

  test("a method that throws, and one whose promise is rejected", async () => {
    const error = new RangeError("no");
    const throwing = instrument(
      plain(() => {
        throw error;
      }),
    );
    const rejecting = instrument(plain(() => Promise.reject(error)));
    const { outcomes } = await record(async () => {
      expect(() => throwing.chat.completions.create(ask)).toThrow(error);
      await expect(rejecting.chat.completions.create(ask)).rejects.toBe(error);
    });
    expect(outcomes).toEqual(["error", "error"]);
  });

  test("a method that gives a generator, and one that gives an iterable", async () => {
    async function* generate() {
      yield* HELLO;
    }
    const iterable = { [Symbol.asyncIterator]: () => generate() };
    for (const stream of [generate(), iterable]) {
      const client = instrument(plain(async () => stream));
      const { value, spans } = await record(async () => {
        const got = (await client.chat.completions.create(ask)) as AsyncIterable<unknown>;
        expect(got).toBe(stream);
        const chunks: unknown[] = [];
        for await (const chunk of got) chunks.push(chunk);
        return chunks;
      });
      expect(value).toEqual(HELLO);
      expect(spans[0]!.attributes).toMatchObject({ response_token_ids: [11, 12, 13, 14] });
    }
  });

  test("a lazy promise of another class stays lazy, and itself", async () => {
    let asked = 0;
    class Lazy extends Promise<unknown> {
      // biome-ignore lint/suspicious/noThenProperty: the SDKs' promises override it too.
      override then: Promise<unknown>["then"] = (done, failed) => {
        asked++;
        return Promise.resolve<unknown>(chat({ content: "hi" })).then(done, failed);
      };
    }
    const lazy = new Lazy(() => {});
    const client = instrument(plain(() => lazy));
    const { open } = await record(() => {
      expect(client.chat.completions.create(ask)).toBe(lazy);
    });
    expect([asked, open]).toEqual([0, 1]);
    const { outcomes, value } = await record(async () => client.chat.completions.create(ask));
    expect([asked, outcomes]).toEqual([1, ["ok"]]);
    expect(value).toEqual(chat({ content: "hi" }));
  });

  test("a frozen stream and a frozen promise are given out all the same", async () => {
    const stream = Object.freeze({ async *[Symbol.asyncIterator]() {} });
    const promise = Object.freeze(Promise.resolve(stream));
    const client = instrument(plain(() => promise));
    const { value, outcomes } = await record(() => client.chat.completions.create(ask));
    expect(value).toBe(stream);
    expect(outcomes).toEqual(["incomplete"]);
  });

  test("answers with getters that throw do no harm", async () => {
    const answer = {
      get choices() {
        throw new Error("trap");
      },
    };
    const client = instrument(plain(async () => answer));
    const { value, outcomes, spans } = await record(() => client.chat.completions.create(ask));
    expect(value === answer).toBe(true);
    expect(outcomes).toEqual(["ok"]);
    expect(spans[0]!.attributes["agentlightning.capture.error"]).toBe("Error: trap");
  });
});

describe("what is not a client", () => {
  test.each<[string, unknown]>([
    ["an object", { a: 1 }],
    ["a function", () => 1],
    ["a number", 7],
    ["null", null],
    ["undefined", undefined],
    ["an Anthropic client", { messages: { create() {} }, completions: { create() {} } }],
    [
      "an object whose properties throw",
      {
        get chat() {
          throw new Error("trap");
        },
      },
    ],
  ])("%s is returned untouched with a warning", (_name, value) => {
    expect(instrument(value)).toBe(value);
    expect(warnings).toHaveLength(1);
  });
});

test("no chunk is kept while its stream is open", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const chunks: Array<WeakRef<object>> = [];
  async function* generate() {
    for (let i = 0; i < 20; i++) {
      const chunk = structuredClone(HELLO[1]!);
      chunks.push(new WeakRef(chunk));
      yield chunk;
    }
    await turn();
    collect();
    yield structuredClone(HELLO[3]!);
  }
  const client = instrument({ chat: { completions: { create: async (_body: object) => generate() } } });
  const { value, spans } = await record(async () => {
    let held = -1;
    for await (const _ of await client.chat.completions.create(ask)) {
      held = chunks.filter((chunk) => chunk.deref() !== undefined).length;
    }
    return held;
  });
  // The consumer's own variable and the generator's last step may still name one each.
  expect(value).toBeLessThanOrEqual(2);
  expect(spans[0]!.attributes["response_token_ids"]).toHaveLength(21);
});

test("a span that the end of the rollout ends keeps what had arrived", async () => {
  const { OpenAI } = await BUILDS[5]!.load();
  const client = instrument(new OpenAI({ apiKey: "key", baseURL: server.url }));
  server.play({ sse: [...HELLO.slice(0, 2), () => new Promise<void>(() => {})] });
  const { spans, open } = await record(async () => {
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.next();
    await turn();
    stream.controller.abort();
  });
  expect(open).toBe(1);
  expect(spans[0]!.attributes).toMatchObject({
    "agentlightning.outcome": "aborted",
    "gen_ai.completion.0.content": "Hello",
    response_token_ids: [11],
  });
});
