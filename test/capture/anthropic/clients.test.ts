import Anthropic from "@anthropic-ai/sdk";
import { BaseAnthropic } from "@anthropic-ai/sdk/client";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { isAnthropicClient } from "../../../src/capture/anthropic/client.ts";
import { instrument } from "../../../src/capture/instrument.ts";
import { isOpenAIClient } from "../../../src/capture/openai/client.ts";
import { type ModelServer, serveModel } from "../../../src/testing/index.ts";
import { withScope } from "../../../src/trace/scope.ts";
import { record } from "../recorded.ts";

let model: ModelServer;
beforeAll(async () => {
  model = await serveModel({ reply: "Hello" });
});
afterAll(() => model.close());

const ASK = { model: "toy", max_tokens: 64, messages: [{ role: "user" as const, content: "Hi" }] };

/** A client as those of the clouds are: the model goes from the body into the URL, behind the app's middleware. */
class CloudAnthropic extends BaseAnthropic {
  messages = new Anthropic.Messages(this);

  override backendMiddleware(): Array<NonNullable<ReturnType<BaseAnthropic["backendMiddleware"]>>[number]> {
    return [
      async (request, next) => {
        const { model: name, ...body } = JSON.parse(String(request.body));
        const sent = { ...body, anthropic_version: "cloud-1", model_in_url: name };
        return next({ ...request, body: JSON.stringify(sent) } as typeof request);
      },
    ];
  }
}

test("a cloud's client is recorded under its host's name, with the model that the body no longer has", async () => {
  const hosts: Array<[string, string]> = [
    ["https://bedrock-runtime.us-east-1.amazonaws.com", "aws.bedrock"],
    ["https://us-east5-aiplatform.googleapis.com/v1", "gcp.vertex_ai"],
    ["https://mine.services.ai.azure.com/anthropic", "azure.ai.inference"],
    ["https://api.anthropic.com", "anthropic"],
    ["http://localhost:8000", "anthropic"],
  ];
  for (const [baseURL, provider] of hosts) {
    const fetch: typeof globalThis.fetch = (_, init) =>
      globalThis.fetch(`${model.url}/messages`, init as RequestInit);
    const client = instrument(new CloudAnthropic({ apiKey: "key", baseURL, fetch }));
    const { spans, value } = await record(() => client.messages.create(ASK));
    expect(value.content).toMatchObject([{ type: "text", text: "Hello" }]);
    expect(spans.map(({ attributes }) => attributes)).toMatchObject([
      {
        "gen_ai.provider.name": provider,
        "gen_ai.system": provider,
        "gen_ai.request.model": "toy",
        "gen_ai.request.anthropic_version": "cloud-1",
        "server.address": new URL(baseURL).hostname,
      },
    ]);
  }
});

test("twice changes nothing, copies are recorded, and a frozen client is left alone with a warning", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const client = instrument(instrument(new Anthropic({ apiKey: "key", baseURL: model.origin })));
  const copy = client.withOptions({ timeout: 5000 }).withOptions({});
  expect((await record(() => client.messages.create(ASK))).spans).toHaveLength(1);
  expect((await record(() => copy.messages.create(ASK))).spans).toHaveLength(1);
  expect((await record(() => copy.beta.messages.create(ASK))).spans).toHaveLength(1);
  expect(warn).not.toHaveBeenCalled();
  const frozen = new Anthropic({ apiKey: "key", baseURL: model.origin });
  Object.freeze(frozen.messages);
  instrument(frozen);
  expect(warn).toHaveBeenCalledTimes(1);
  expect((await record(() => frozen.messages.create(ASK))).spans).toEqual([]);
  warn.mockRestore();
});

test("options: no capture, a proxy", async () => {
  const silent = instrument(new Anthropic({ apiKey: "key", baseURL: model.origin }), { capture: false });
  expect((await record(() => silent.messages.create(ASK))).spans).toEqual([]);
  const proxied = instrument(new Anthropic({ apiKey: "key" }), {
    proxy: { baseURL: model.origin, apiKey: "other" },
  });
  const before = model.requests.length;
  expect((await record(() => proxied.messages.create(ASK))).spans).toEqual([]);
  expect(model.requests[before]?.headers["authorization"]).toBe("Bearer other");
});

test("is known by its methods, and no other library's client is taken for one", () => {
  const client = new Anthropic({ apiKey: "key" });
  expect([isAnthropicClient(client), isOpenAIClient(client)]).toEqual([true, false]);
  const create = () => {};
  // A client that sends text messages has such a method too.
  expect(isAnthropicClient({ messages: { create } })).toBe(false);
  expect(isAnthropicClient({ beta: { messages: { create, stream: create } } })).toBe(true);
  expect(isAnthropicClient({})).toBe(false);
});

test("the calls of agents and of rollouts side by side stay apart", async () => {
  const client = instrument(new Anthropic({ apiKey: "key", baseURL: model.origin }));
  const agents = ["planner", "solver", "critic"];
  const { spans } = await record(() =>
    Promise.all(
      agents.flatMap((agent) => [
        withScope({ agent }, () => client.messages.create(ASK)),
        withScope({ agent }, () => client.messages.stream(ASK).finalMessage()),
      ]),
    ),
  );
  const names = spans.map(({ attributes }) => attributes["agent.name"]);
  expect(names.sort()).toEqual(["critic", "critic", "planner", "planner", "solver", "solver"]);
});

test("the JSON of a body is made once, by the SDK", async () => {
  const client = instrument(new Anthropic({ apiKey: "key", baseURL: model.origin }));
  let made = 0;
  const said = { role: "user" as const, content: "Hi" };
  const toJSON = () => {
    made++;
    return said;
  };
  const messages = [{ ...said, toJSON }];
  for (const call of [
    () => client.messages.create({ ...ASK, messages }),
    () => client.beta.messages.create({ ...ASK, messages }),
    () => client.messages.stream({ ...ASK, messages }).finalMessage(),
  ]) {
    made = 0;
    const { spans } = await record(async () => void (await call()));
    expect(made).toBe(1);
    expect(spans[0]?.attributes["gen_ai.prompt.0.content"]).toBe("Hi");
  }
});
