/**
 * Ways of using Anthropic's client, run with and without instrumentation.
 *
 * @module
 */
import { attempt, type Scenario } from "../scenario.ts";
import { surface } from "../transcript.ts";
import { message, text, toolUse } from "./wire-samples.ts";

export const ASK = { model: "claude-test", max_tokens: 64, messages: [{ role: "user", content: "Hi" }] };

const headers = { "request-id": "req_a" };
const hello = { headers, json: message([text("Hello")]) };
const refused = {
  status: 400,
  headers,
  json: { type: "error", error: { type: "invalid_request_error", message: "bad" } },
};
const overloaded = {
  status: 529,
  headers: { ...headers, "retry-after-ms": "1" },
  json: { type: "error", error: { type: "overloaded_error", message: "later" } },
};
const never = { sse: [() => new Promise<void>(() => {})] };

/** The arguments of the tool that the runners use. */
const addTool = {
  name: "add",
  description: "adds",
  input_schema: { type: "object", properties: { a: { type: "number" } } },
  run: async ({ a }: { a: number }) => String(a + 1),
  parse: (input: unknown) => input,
};
const twoTurns = (_: unknown, index: number) =>
  index === 0
    ? { headers, json: message([toolUse("t1", { a: 1 })], { stop_reason: "tool_use" }) }
    : { headers, json: message([text("2")]) };

/** A promise's looks, without the one method that recording puts in front of the SDK's own of the same name. */
export function look(promise: object): unknown {
  const { own, ...rest } = surface(promise) as { own: string[] };
  return { ...rest, own: own.filter((line) => !line.startsWith("_responseProps ")) };
}

/** Scenarios of whole answers. */
export const WHOLE_SCENARIOS: readonly Scenario[] = [
  {
    name: "create",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, { note }) => note("message", await client.messages.create(ASK)),
  },
  {
    name: "the promise looks the same and gives its response",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, { note }) => {
      const promise = client.messages.create(ASK);
      note("surface", look(promise));
      const { data, response, request_id } = await promise.withResponse();
      note("all", [data, response.status, request_id, data === (await promise)]);
    },
  },
  {
    name: "only the response",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, { note }) => {
      const response = await client.messages.create(ASK).asResponse();
      note("text", await response.text());
    },
  },
  {
    name: "the response first, then the message",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, { note }) => {
      const promise = client.messages.create(ASK);
      const response = await promise.asResponse();
      note("both", [response.status, await promise]);
    },
  },
  {
    name: "then, catch and finally",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, { note }) => {
      const promise = client.messages.create(ASK);
      note("first", await promise.then((value: { id: string }) => value.id));
      note("rest", [await promise.catch(() => 0), await promise.finally(() => {})]);
    },
  },
  {
    name: "nobody waits",
    reply: hello,
    outcomes: [],
    open: 1,
    run: async (client, { note }) => note("promise", look(client.messages.create(ASK))),
  },
  {
    name: "nobody waits for a failure",
    reply: refused,
    outcomes: ["error"],
    open: 1,
    run: async (client, stage) => {
      client.messages.create(ASK);
      await attempt(stage, () => client.messages.create(ASK).asResponse());
    },
  },
  {
    name: "an error of the API",
    reply: refused,
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => client.messages.create(ASK)),
  },
  {
    name: "an error of the API, by its response",
    reply: refused,
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => client.messages.create(ASK).withResponse()),
  },
  {
    name: "a retry",
    reply: (_, index) => (index === 0 ? overloaded : hello),
    outcomes: ["ok"],
    run: async (client, { note }) => note("message", await client.messages.create(ASK, { maxRetries: 1 })),
  },
  {
    name: "a body that is no JSON",
    reply: { text: "{", headers: { ...headers, "content-type": "application/json" } },
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => client.messages.create(ASK)),
  },
  {
    name: "an answer without a body",
    reply: { headers: { ...headers, "content-type": "application/json" }, json: null },
    outcomes: ["ok"],
    run: (client, stage) => attempt(stage, () => client.messages.create(ASK)),
  },
  {
    name: "refused before it is sent",
    reply: hello,
    outcomes: ["error"],
    run: async (client, stage) => {
      try {
        client.messages.create({ ...ASK, max_tokens: 10_000_000 });
      } catch (error) {
        stage.note("thrown at once", error);
      }
    },
  },
  {
    name: "aborted before it is sent",
    reply: hello,
    outcomes: ["aborted"],
    run: async (client, stage) => {
      stage.controller.abort();
      await attempt(stage, () => client.messages.create(ASK, { signal: stage.controller.signal }));
    },
  },
  {
    name: "aborted while it waits",
    reply: never,
    outcomes: ["aborted"],
    run: async (client, stage) => {
      const promise = client.messages.create(ASK, { signal: stage.controller.signal });
      const waiting = attempt(stage, () => promise);
      await promise.asResponse();
      stage.controller.abort();
      await waiting;
      await stage.broken(1);
    },
  },
  {
    name: "parse",
    reply: { headers, json: message([text('{"x":1}')]) },
    outcomes: ["ok"],
    run: async (client, { note }) => {
      const promise = client.messages.parse({
        ...ASK,
        output_config: { format: { type: "json_schema", schema: { type: "object" }, parse: JSON.parse } },
      });
      note("surface", look(promise));
      note("parsed", await promise);
    },
  },
  {
    name: "a parser that throws",
    reply: { headers, json: message([text("{")]) },
    outcomes: ["ok"],
    run: (client, stage) =>
      attempt(stage, () =>
        client.messages.parse({
          ...ASK,
          output_config: { format: { type: "json_schema", schema: { type: "object" }, parse: JSON.parse } },
        }),
      ),
  },
  {
    name: "beta",
    reply: hello,
    outcomes: ["ok", "ok"],
    run: async (client, { note }) => {
      note("message", await client.beta.messages.create({ ...ASK, betas: ["a-1"] }));
      note("parsed", await client.beta.messages.parse({ ...ASK, betas: ["a-1"] }));
    },
  },
  {
    name: "tool runner",
    reply: twoTurns,
    outcomes: ["ok", "ok"],
    run: async (client, { note }) => {
      const runner = client.beta.messages.toolRunner({ ...ASK, tools: [addTool] });
      for await (const turn of runner) note("turn", turn);
      note("params", runner.params.messages);
    },
  },
  {
    name: "tool runner until done, with a tool that throws",
    reply: twoTurns,
    outcomes: ["ok", "ok"],
    run: async (client, { note }) => {
      const run = () => Promise.reject(new RangeError("no"));
      note("last", await client.beta.messages.toolRunner({ ...ASK, tools: [{ ...addTool, run }] }));
    },
  },
  {
    name: "tool runner that fails on its way",
    reply: (_, index) => (index === 0 ? twoTurns(_, 0) : refused),
    outcomes: ["ok", "error"],
    run: (client, stage) =>
      attempt(stage, () => client.beta.messages.toolRunner({ ...ASK, tools: [addTool] }).runUntilDone()),
  },
  {
    name: "thread",
    reply: hello,
    majors: [1],
    outcomes: ["ok", "ok"],
    run: async (client, { note }) => {
      const thread = client.beta.messages.thread({ model: "claude-test", max_tokens: 64 });
      note("first", await thread.send({ role: "user", content: "Hi" }));
      const { data, response } = await thread.send({ role: "user", content: "And?" }).withResponse();
      note("second", [data, response.status]);
    },
  },
  {
    name: "thread that fails",
    reply: refused,
    majors: [1],
    outcomes: ["error"],
    run: (client, stage) =>
      attempt(stage, () =>
        client.beta.messages
          .thread({ model: "claude-test", max_tokens: 64 })
          .send({ role: "user", content: "Hi" }),
      ),
  },
  {
    name: "other options",
    reply: hello,
    outcomes: ["ok"],
    run: async (client, { note }) => {
      const child = client.withOptions({ defaultHeaders: { "x-mine": "1" } }).withOptions({ timeout: 1000 });
      note("message", await child.messages.create(ASK));
    },
  },
  {
    name: "the method taken off its object",
    reply: hello,
    outcomes: ["error"],
    run: (client, stage) =>
      attempt(stage, () => {
        const { create } = client.messages;
        return create(ASK);
      }),
  },
  {
    name: "what is not recorded works",
    reply: { headers, json: { input_tokens: 3 } },
    outcomes: [],
    run: async (client, { note }) => {
      note("count", await client.messages.countTokens({ model: "claude-test", messages: ASK.messages }));
      note("raw", await client.post("/v1/messages", { body: ASK }));
    },
  },
];

export { addTool, headers, never, refused };
