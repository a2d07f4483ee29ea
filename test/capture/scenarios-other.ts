/**
 * Scenarios of the responses, completions and embeddings endpoints, and of what is not captured.
 *
 * @module
 */
import { ASK, attempt, consume, type Scenario } from "./scenario.ts";
import { surface } from "./transcript.ts";
import { response, responseEvents } from "./wire-samples.ts";

const said = { json: response("hi") };
const events = { sse: responseEvents() };
const never = () => new Promise<void>(() => {});
const input = { model: "toy", input: "Hi" };
const completion = (text: string, reason: string | null) => ({
  id: "cmpl-1",
  object: "text_completion",
  created: 1,
  model: "toy",
  choices: [
    { index: 0, text, finish_reason: reason, logprobs: null, token_ids: [1], prompt_token_ids: [5, 6] },
  ],
});

/** Runs one scenario at `responses` and at `beta.responses`. */
function both(
  scenario: Omit<Scenario, "run"> & { run: (resource: never, stage: never) => Promise<unknown> },
): Scenario[] {
  const run = scenario.run as (resource: unknown, stage: unknown) => Promise<unknown>;
  return [
    { ...scenario, run: (client, stage) => run(client.responses, stage) },
    {
      ...scenario,
      name: `beta ${scenario.name}`,
      majors: [6, 7],
      run: (client, stage) => attempt(stage, () => run(client.beta.responses, stage)),
    },
  ];
}

const vectors = [
  { object: "embedding", index: 0, embedding: [0.5, 0.25] },
  { object: "embedding", index: 1, embedding: [1, 2] },
];
const base64 = vectors.map((vector) => ({
  ...vector,
  embedding: Buffer.from(new Float32Array(vector.embedding).buffer).toString("base64"),
}));
const list = { object: "list", model: "toy", usage: { prompt_tokens: 2, total_tokens: 2 } };

export const OTHER_SCENARIOS: readonly Scenario[] = [
  ...both({
    name: "responses.create",
    reply: said,
    outcomes: ["ok"],
    run: async (resource: never, stage: never) => note(stage, "value", await call(resource, "create", input)),
  }),
  ...both({
    name: "responses.create as a stream",
    reply: events,
    outcomes: ["ok"],
    run: async (resource: never, stage: never) =>
      consume(stage, (await call(resource, "create", { ...input, stream: true })) as AsyncIterable<unknown>),
  }),
  ...both({
    name: "a response stream left early",
    reply: { sse: [...responseEvents().slice(0, 4), never] },
    outcomes: ["cancelled"],
    run: async (resource: never, stage: never) => {
      const stream = (await call(resource, "create", { ...input, stream: true })) as AsyncIterable<{
        type: string;
      }>;
      for await (const event of stream) {
        note(stage, "event", event);
        if (event.type === "response.output_text.delta") break;
      }
    },
  }),
  {
    name: "responses.create withResponse",
    reply: said,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const got = await client.responses.create(input).withResponse();
      stage.note("value", [got.data, got.request_id, got.response.status]);
    },
  },
  {
    name: "responses stream withResponse",
    reply: events,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const got = await client.responses.create({ ...input, stream: true }).withResponse();
      stage.note("surface", [got.request_id, surface(got.data)]);
      await consume(stage, got.data);
    },
  },
  {
    name: "responses.parse",
    reply: { json: response('{"a":1}') },
    outcomes: ["ok"],
    run: async (client, stage) => {
      const format = { type: "json_schema", name: "a", schema: { type: "object" }, strict: true };
      stage.note("value", await client.responses.parse({ ...input, text: { format } }));
    },
  },
  {
    name: "responses.stream",
    reply: events,
    outcomes: ["ok"],
    run: async (client, stage) => {
      const helper = client.responses.stream(input);
      helper.on("response.output_text.delta", (event: unknown) => stage.note("delta", event));
      stage.note("final", await helper.finalResponse());
    },
  },
  {
    name: "responses.stream by for await",
    reply: events,
    outcomes: ["ok"],
    run: async (client, stage) => consume(stage, client.responses.stream(input)),
  },
  {
    name: "a response cut at the token limit",
    reply: {
      json: response("hi", { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }),
    },
    outcomes: ["truncated"],
    run: async (client, stage) => stage.note("value", await client.responses.create(input)),
  },
  {
    name: "a response that failed",
    reply: {
      json: response("", { status: "failed", output: [], error: { code: "server_error", message: "no" } }),
    },
    outcomes: ["error"],
    run: async (client, stage) => stage.note("value", await client.responses.create(input)),
  },
  {
    name: "a refused response",
    reply: { status: 404, json: { error: { message: "no such model" } } },
    outcomes: ["error"],
    run: (client, stage) => attempt(stage, () => client.responses.create(input)),
  },
  {
    name: "completions.create",
    reply: { json: completion("hi", "stop") },
    outcomes: ["ok"],
    run: async (client, stage) =>
      stage.note("value", await client.completions.create({ model: "toy", prompt: "Say hi" })),
  },
  {
    name: "completions.create as a stream",
    reply: { sse: [completion("h", null), completion("i", "length")] },
    outcomes: ["truncated"],
    run: async (client, stage) =>
      consume(stage, await client.completions.create({ model: "toy", prompt: "Say hi", stream: true })),
  },
  {
    name: "embeddings",
    reply: (request) => ({ json: { ...list, data: request.body.includes("base64") ? base64 : vectors } }),
    outcomes: ["ok"],
    run: async (client, stage) =>
      stage.note("value", await client.embeddings.create({ model: "toy", input: ["a", "b"] })),
  },
  {
    name: "embeddings with an encoding of the user's",
    reply: { json: { ...list, data: vectors } },
    outcomes: ["ok"],
    run: async (client, stage) => {
      const got = await client.embeddings
        .create({ model: "toy", input: "a", encoding_format: "float" })
        .withResponse();
      stage.note("value", [got.data, got.request_id]);
    },
  },
  {
    name: "calls that are not captured",
    reply: { json: { object: "list", data: [{ id: "toy", object: "model" }] } },
    outcomes: [],
    run: async (client, stage) => {
      for await (const model of client.models.list()) stage.note("model", model);
      stage.note("post", await client.post("/chat/completions", { body: ASK }));
      stage.note("get", await client.get("/models"));
    },
  },
];

type Note = { note(what: string, value: unknown): void };

function note(stage: Note, what: string, value: unknown): void {
  stage.note(what, value);
}

function call(resource: Record<string, (body: object) => unknown>, method: string, body: object): unknown {
  return resource[method]!(body);
}
