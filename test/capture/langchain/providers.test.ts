/**
 * Models and embeddings of other kinds than ChatOpenAI.
 */
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
} from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import {
  AzureChatOpenAI,
  AzureOpenAIEmbeddings,
  ChatOpenAI,
  OpenAI,
  OpenAIEmbeddings,
} from "@langchain/openai";
import * as v03 from "langchain-v03";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { openRuns } from "../../../src/capture/langchain/runs.ts";
import { type ModelServer, serveModel } from "../../../src/testing/model-server.ts";
import { record, recordAll } from "./setup.ts";

let server: ModelServer;
/** Answers Azure's paths, which name a deployment, as if they were OpenAI's. */
const toServer = (input: string | URL | Request, init?: RequestInit) => {
  const url = new URL(String(input instanceof Request ? input.url : input));
  return fetch(`${server.url}${url.pathname.replace(/^\/openai\/deployments\/[^/]+/, "")}`, init);
};
beforeAll(async () => {
  server = await serveModel();
  for (const Class of [ChatOpenAI, AzureChatOpenAI, OpenAI, OpenAIEmbeddings, AzureOpenAIEmbeddings]) {
    expect(instrument(Class)).toBe(Class);
  }
  instrument(v03.openai.OpenAIEmbeddings);
});
afterAll(() => server.close());

const azure = () => ({
  azureOpenAIApiKey: "none",
  azureOpenAIApiInstanceName: "mine",
  azureOpenAIApiDeploymentName: "toy-deployment",
  azureOpenAIApiVersion: "2024-10-21",
  maxRetries: 0,
  configuration: { fetch: toServer as typeof fetch },
});
const names = (spans: ReadonlyArray<{ name: string }>) => spans.map(({ name }) => name);

test("AzureChatOpenAI: one span a call, Azure's; unknown fields are not asked for", async () => {
  const model = new AzureChatOpenAI({ model: "toy", ...azure() });
  const { spans, value } = await record(async () => {
    let text = "";
    for await (const piece of await model.stream("Hi")) text += piece.content;
    return [(await model.invoke("Hi")).content, text];
  }, "train");
  expect(value).toEqual(["You said: Hi", "You said: Hi"]);
  expect(names(spans)).toEqual(["openai.chat.completion", "openai.chat.completion"]);
  for (const { attributes } of spans) {
    expect(attributes["gen_ai.completion.0.content"]).toBe("You said: Hi");
    expect(attributes["gen_ai.provider.name"]).toBe("azure.ai.openai");
  }
  expect(server.requests.at(-1)!.body).not.toHaveProperty("return_token_ids");
});

test("a model of plain text: one span a call, with token ids", async () => {
  const model = new OpenAI({
    model: "toy",
    apiKey: "none",
    maxRetries: 0,
    configuration: { baseURL: server.url },
  });
  const plain = await model.invoke("Hi");
  const { spans, value } = await record(() => model.invoke("Hi"), "train");
  expect(value).toBe(plain);
  expect(names(spans)).toEqual(["openai.chat.completion"]);
  expect(spans[0]!.attributes["gen_ai.completion.0.content"]).toBe(plain);
  expect(spans[0]!.attributes).toHaveProperty("response_token_ids");
});

describe.each([
  {
    name: "OpenAIEmbeddings",
    make: () =>
      new OpenAIEmbeddings({ model: "toy", apiKey: "none", configuration: { baseURL: server.url } }),
  },
  { name: "AzureOpenAIEmbeddings", make: () => new AzureOpenAIEmbeddings({ ...azure(), model: "toy" }) },
  {
    name: "OpenAIEmbeddings of 0.3",
    make: () =>
      new v03.openai.OpenAIEmbeddings({
        model: "toy",
        apiKey: "none",
        configuration: { baseURL: server.url },
      }),
  },
])("$name", ({ make }) => {
  test("one span a request, from the first on, and the vectors that come without us", async () => {
    const plain = make();
    const one = await plain.embedQuery("Hi");
    const embeddings = make();
    const keys = Object.keys(embeddings);
    const { spans, value } = await record(() => embeddings.embedQuery("Hi"));
    expect(value).toEqual(one);
    expect(names(spans)).toEqual(["openai.embedding"]);
    expect(spans[0]!.attributes["gen_ai.request.model"]).toBe("toy");
    expect(Object.keys(embeddings)).toEqual(Object.keys(plain));
    expect(Object.getOwnPropertyDescriptor(embeddings, "client")).toMatchObject({ writable: true });
    expect(keys).toEqual(Object.keys(make()));
  });

  test("at once in four rollouts, with a limit on the calls", async () => {
    const embeddings = Object.assign(make(), { batchSize: 1 });
    const all = await recordAll(
      Array.from({ length: 4 }, (_, i) => () => embeddings.embedDocuments([`a${i}`, `b${i}`])),
    );
    for (const { spans } of all) expect(names(spans)).toEqual(["openai.embedding", "openai.embedding"]);
  });
});

test("an instance of embeddings that has asked already", async () => {
  const embeddings = new OpenAIEmbeddings({
    model: "toy",
    apiKey: "none",
    configuration: { baseURL: server.url },
  });
  await embeddings.embedQuery("before");
  instrument(embeddings);
  const { spans } = await record(() => embeddings.embedQuery("Hi"));
  expect(names(spans)).toEqual(["openai.embedding"]);
});

const USAGE = { input_tokens: 5, output_tokens: 3, total_tokens: 8 };

/** A model as Anthropic's packages make them: content in blocks, usage of its own, no client like OpenAI's. */
class Blocks extends BaseChatModel {
  _llmType() {
    return "blocks";
  }
  override getLsParams(options: this["ParsedCallOptions"]) {
    return { ...super.getLsParams(options), ls_provider: "anthropic", ls_model_name: "claude-toy" };
  }
  override invocationParams(options: this["ParsedCallOptions"]) {
    return { model: "claude-toy", max_tokens: 64, temperature: 0.5, stop: options.stop, api_key: "secret" };
  }
  async _generate(): Promise<ChatResult> {
    const message = new AIMessage({
      id: "msg_1",
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "one two" },
      ],
      tool_calls: [{ id: "t1", name: "add", args: { a: 1 } }],
    });
    Object.assign(message, { usage_metadata: USAGE });
    message.response_metadata = { model: "claude-toy-1", stop_reason: "max_tokens" };
    return { generations: [{ text: "one two", message }] };
  }
  override async *_streamResponseChunks(_messages: BaseMessage[]): AsyncGenerator<ChatGenerationChunk> {
    for (const text of ["one", " two"]) {
      const message = new AIMessageChunk({ id: "msg_1", content: [{ type: "text", text, index: 0 }] });
      yield new ChatGenerationChunk({ text, message });
    }
    const last = new AIMessageChunk({ id: "msg_1", content: "" });
    Object.assign(last, { usage_metadata: USAGE });
    last.response_metadata = { stop_reason: "end_turn" };
    yield new ChatGenerationChunk({ text: "", message: last });
  }
}

test("a model of another provider: a span of what LangChain tells, and no credential", async () => {
  const { spans } = await record(() =>
    new Blocks({}).invoke([new SystemMessage("Be brief"), new HumanMessage("Hi")], { stop: ["."] }),
  );
  expect(names(spans)).toEqual(["openai.chat.completion"]);
  expect(spans[0]!.attributes).toMatchObject({
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "claude-toy",
    "gen_ai.request.max_tokens": 64,
    "gen_ai.request.temperature": 0.5,
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.1.content": "Hi",
    "gen_ai.response.id": "msg_1",
    "gen_ai.response.model": "claude-toy-1",
    "gen_ai.completion.0.content": "one two",
    "gen_ai.completion.0.finish_reason": "length",
    "gen_ai.completion.0.tool_calls.0.name": "add",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"a":1}',
    "gen_ai.usage.input_tokens": 5,
    "gen_ai.usage.output_tokens": 3,
    "agentlightning.outcome": "truncated",
  });
  expect(JSON.stringify(spans[0]!.attributes)).not.toContain("secret");
});

test("such a model streamed, whole and left: the text of its blocks, and the usage", async () => {
  const whole = await record(async () => {
    for await (const _ of await new Blocks({}).stream("Hi")) {
      // Read to the end.
    }
  });
  expect(whole.spans[0]!.attributes).toMatchObject({
    "gen_ai.completion.0.content": "one two",
    "gen_ai.usage.output_tokens": 3,
    "agentlightning.outcome": "ok",
  });
  const left = await record(async () => {
    for await (const _ of await new Blocks({}).stream("Hi")) break;
  });
  expect(left.spans[0]!.attributes).toMatchObject({
    "gen_ai.completion.0.content": "one",
    "agentlightning.outcome": "cancelled",
  });
  expect(openRuns()).toBe(0);
});
