/**
 * Scenarios of whole chat completions.
 *
 * @module
 */
import { ASK, attempt, type Scenario } from "./scenario.ts";
import { surface } from "./transcript.ts";
import { chatHelpers } from "./versions.ts";
import { chat } from "./wire-samples.ts";

const hi = { json: chat({ content: "hi" }) };
const schema = {
  name: "answer",
  schema: { type: "object", properties: { a: { type: "number" } } },
  strict: true,
};
const structured = { ...ASK, response_format: { type: "json_schema", json_schema: schema } };
const refused = { status: 400, json: { error: { message: "bad", type: "invalid", code: "e1", param: "p" } } };
const toolCall = { id: "c0", type: "function", function: { name: "add", arguments: '{"a":1}' } };

/** Tools of `runTools` that note their calls. */
function adder(note: (what: string, value: unknown) => void): object[] {
  const run = (args: unknown) => {
    note("tool", args);
    return "2";
  };
  const parameters = { type: "object", properties: { a: { type: "number" } } };
  return [
    {
      type: "function",
      function: { name: "add", description: "adds", parameters, parse: JSON.parse, function: run },
    },
  ];
}

export const CHAT_SCENARIOS: readonly Scenario[] = [
  {
    name: "create",
    reply: hi,
    outcomes: ["ok"],
    run: async (client, stage) => stage.note("value", await client.chat.completions.create(ASK)),
  },
  {
    name: "the promise and the method look the same",
    reply: hi,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const { create } = client.chat.completions;
      stage.note("method", [create.name, create.length, typeof create, Object.keys(client.chat.completions)]);
      const promise = client.chat.completions.create(ASK);
      stage.note("promise", [promise instanceof Promise, promise.constructor.name, surface(promise)]);
      await promise;
    },
  },
  {
    name: "withResponse",
    reply: hi,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const got = await client.chat.completions.create(ASK).withResponse();
      stage.note("data", got.data);
      stage.note("response", [got.response.status, got.request_id, Object.keys(got)]);
    },
  },
  {
    name: "asResponse",
    reply: hi,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const got = await client.chat.completions.create(ASK).asResponse();
      stage.note("before", [got.status, got.bodyUsed]);
      stage.note("body", await got.json());
    },
  },
  {
    name: "asResponse, then the parsed answer",
    reply: hi,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const promise = client.chat.completions.create(ASK);
      stage.note("status", (await promise.asResponse()).status);
      stage.note("value", await promise);
      const [first, second] = await Promise.all([promise, promise]);
      stage.note("again", first === second);
    },
  },
  {
    name: "then, catch and finally",
    reply: hi,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const promise = client.chat.completions.create(ASK);
      await Promise.all([
        promise.then((value: unknown) => stage.note("then", value)),
        promise.catch(() => stage.note("catch")),
        promise.finally(() => stage.note("finally")),
        Promise.all([promise]).then(() => stage.note("all")),
      ]);
    },
  },
  {
    name: "parse",
    reply: { json: chat({ content: '{"a":1}' }) },
    outcomes: ["ok"],
    run: async (client, stage) => stage.note("value", await chatHelpers(client).parse(structured)),
  },
  {
    name: "parse withResponse",
    reply: { json: chat({ content: '{"a":1}' }) },
    outcomes: ["ok"],
    run: async (client, stage) =>
      stage.note("value", await chatHelpers(client).parse(structured).withResponse()),
  },
  {
    name: "parse of an answer that hit the limit",
    reply: {
      json: {
        ...chat({}),
        choices: [{ index: 0, message: { role: "assistant", content: '{"a' }, finish_reason: "length" }],
      },
    },
    outcomes: ["truncated"],
    run: (client, stage) => attempt(stage, () => chatHelpers(client).parse(structured)),
  },
  {
    name: "parse of a refused request",
    reply: refused,
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => chatHelpers(client).parse(structured)),
  },
  {
    name: "runTools",
    reply: (_request, index) => ({
      json: index === 0 ? chat({ tool_calls: [toolCall] }) : chat({ content: "two" }),
    }),
    outcomes: ["ok", "ok"],
    run: async (client, stage) => {
      const runner = chatHelpers(client).runTools({ ...ASK, tools: adder(stage.note) });
      runner.on("message", (message: unknown) => stage.note("message", message));
      stage.note("content", await runner.finalContent());
      stage.note("messages", runner.messages);
      stage.note("usage", await runner.totalUsage());
    },
  },
  {
    name: "runTools that fails",
    reply: refused,
    outcomes: ["error"],
    run: async (client, stage) => {
      const runner = chatHelpers(client).runTools({ ...ASK, tools: adder(stage.note) });
      runner.on("error", (error: unknown) => stage.note("error", error));
      await attempt(stage, () => runner.done());
    },
  },
  {
    name: "400",
    reply: refused,
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => client.chat.completions.create(ASK)),
  },
  {
    name: "400, caught late",
    reply: refused,
    outcomes: ["error"],
    run: async (client, stage) => {
      const promise = client.chat.completions.create(ASK);
      promise.catch((error: unknown) => stage.note("early", error));
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      await attempt(stage, () => promise);
    },
  },
  {
    name: "a failure that nobody awaits",
    reply: refused,
    outcomes: ["incomplete"],
    open: 1,
    run: async (client) => {
      client.chat.completions.create(ASK);
      await untilUnhandled();
    },
  },
  {
    name: "a failure of which only the response is asked",
    reply: refused,
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => client.chat.completions.create(ASK).asResponse()),
  },
  {
    name: "an answer that nobody awaits is not read",
    reply: hi,
    outcomes: ["incomplete"],
    open: 1,
    run: async (client, stage) => {
      let response: Response | undefined;
      const fetch = client.fetch;
      client.fetch = async (...args: unknown[]) => {
        response = await fetch(...args);
        return response;
      };
      client.chat.completions.create(ASK);
      while (response === undefined) await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      stage.note("read", response.bodyUsed);
    },
  },
  {
    name: "retries make one span",
    reply: (_request, index) =>
      index === 0 ? { status: 500, headers: { "retry-after-ms": "1" }, json: {} } : hi,
    outcomes: ["ok"],
    run: async (client, stage) =>
      stage.note("value", await client.chat.completions.create(ASK, { maxRetries: 1 })),
  },
  {
    name: "an aborted call",
    reply: { sse: [() => new Promise(() => {})], headers: { "content-type": "application/json" } },
    outcomes: ["aborted"],
    run: async (client, stage) => {
      const promise = client.chat.completions.create(ASK, { signal: stage.controller.signal });
      promise.catch(() => {});
      await promise.asResponse();
      stage.controller.abort();
      await attempt(stage, () => promise);
    },
  },
  {
    name: "a call whose signal is aborted before it starts",
    reply: hi,
    outcomes: ["aborted"],
    run: (client, stage) => {
      stage.controller.abort();
      return attempt(stage, () => client.chat.completions.create(ASK, { signal: stage.controller.signal }));
    },
  },
  {
    name: "withOptions",
    reply: hi,
    outcomes: ["ok", "ok"],
    majors: [5, 6, 7],
    run: async (client, stage) => {
      const child = client.withOptions({ maxRetries: 0, defaultHeaders: { "x-child": "1" } });
      stage.note("same class", child.constructor === client.constructor);
      stage.note("value", await child.chat.completions.create(ASK));
      stage.note("grandchild", await child.withOptions({ timeout: 5000 }).chat.completions.create(ASK));
    },
  },
  {
    name: "request options are passed on",
    reply: hi,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const headers = { "x-mine": "1" };
      const options = {
        headers,
        query: { a: "b" },
        signal: stage.controller.signal,
        timeout: 5000,
        maxRetries: 0,
      };
      stage.note("value", await client.chat.completions.create(ASK, options));
    },
  },
  {
    name: "parallel tool calls",
    reply: { json: chat({ tool_calls: [toolCall, { ...toolCall, id: "c1" }] }) },
    outcomes: ["ok"],
    run: async (client, stage) => stage.note("value", await client.chat.completions.create(ASK)),
  },
  ...[
    "{}",
    '{"choices":[]}',
    '{"choices":[{"message":null}]}',
    "[]",
    "null",
    '{"choices":7,"usage":{"is_byok":true}}',
  ].map(
    (json): Scenario => ({
      name: `the odd body ${json}`,
      reply: { json: JSON.parse(json) },
      outcomes: ["ok"],
      run: (client, stage) => attempt(stage, () => client.chat.completions.create(ASK)),
    }),
  ),
  {
    name: "a text body",
    reply: { text: "hello" },
    outcomes: ["ok"],
    run: (client, stage) => attempt(stage, () => client.chat.completions.create(ASK)),
  },
  {
    name: "broken JSON",
    reply: { text: "{", headers: { "content-type": "application/json" } },
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => client.chat.completions.create(ASK)),
  },
  {
    name: "broken JSON under parse",
    reply: { text: "{", headers: { "content-type": "application/json" } },
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => chatHelpers(client).parse(structured)),
  },
  {
    name: "arguments are not changed, and may be frozen",
    reply: hi,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const body = Object.freeze({ ...ASK, metadata: Object.freeze({ a: "b" }) });
      const options = Object.freeze({ maxRetries: 0 });
      await client.chat.completions.create(body, options);
      stage.note("arguments", [body, options]);
    },
  },
  {
    name: "a body with a cycle",
    reply: hi,
    outcomes: ["error"],
    run: (client, stage) => {
      const body: Record<string, unknown> = { ...ASK };
      body["self"] = body;
      return attempt(stage, () => client.chat.completions.create(body));
    },
  },
  {
    name: "a body in the options",
    reply: hi,
    outcomes: ["ok"],
    run: (client, stage) =>
      attempt(stage, () => client.chat.completions.create(ASK, { body: { ...ASK, model: "other" } })),
  },
  {
    name: "no body, or none that is an object",
    reply: hi,
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => client.chat.completions.create()),
  },
  {
    name: "a detached method",
    reply: hi,
    outcomes: ["error"],
    run: (client, stage) => {
      const { create } = client.chat.completions;
      return attempt(stage, () => create(ASK));
    },
  },
  {
    name: "20 calls at once, with one body",
    reply: hi,
    outcomes: Array(20).fill("ok"),
    run: async (client, stage) => {
      const body = { ...ASK };
      const all = await Promise.all(Array.from({ length: 20 }, () => client.chat.completions.create(body)));
      stage.note("values", all);
    },
  },
];

/** Turns of the event loop until the process has seen an unhandled rejection. */
async function untilUnhandled(): Promise<void> {
  await new Promise((resolve) => process.once("unhandledRejection", resolve));
}
