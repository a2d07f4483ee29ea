/**
 * The options of `instrument`, which hold for a copy of LangChain: each test has a copy of its own.
 */
import { createRequire } from "node:module";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import * as v03 from "langchain-v03";
import { afterAll, beforeAll, expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { type ModelServer, serveModel } from "../../../src/testing/model-server.ts";
import { record } from "./setup.ts";

const require = createRequire(import.meta.url);
const cjs: typeof import("@langchain/openai") = require("@langchain/openai");

let server: ModelServer;
let proxy: ModelServer;
beforeAll(async () => {
  server = await serveModel();
  proxy = await serveModel({ key: "scoped" });
});
afterAll(() => Promise.all([server.close(), proxy.close()]));

const fields = () => ({
  model: "toy",
  apiKey: "none",
  maxRetries: 0,
  configuration: { baseURL: server.url },
});

test("a proxy: the calls go there with its key, and are not recorded here", async () => {
  const options = { proxy: { baseURL: proxy.url, apiKey: "scoped" } };
  instrument(ChatOpenAI, options);
  instrument(OpenAIEmbeddings, options);
  const { spans, value } = await record(async () => {
    const model = new ChatOpenAI(fields());
    let text = "";
    for await (const piece of await model.stream("Hi")) text += piece.content;
    await new OpenAIEmbeddings(fields()).embedQuery("Hi");
    return [(await model.invoke("Hi")).content, text];
  }, "train");
  expect(value).toEqual(["You said: Hi", "You said: Hi"]);
  expect(spans).toEqual([]);
  expect(server.requests).toEqual([]);
  expect(proxy.requests.map(({ operation }) => operation)).toEqual(["chat", "embedding", "chat"]);
  for (const { body } of proxy.requests) expect(body).not.toHaveProperty("return_token_ids");
});

test("token ids wanted always", async () => {
  instrument(cjs.ChatOpenAI, { tokenIds: true });
  const { spans } = await record(() => new cjs.ChatOpenAI(fields()).invoke("Hi"));
  expect(spans).toHaveLength(1);
  expect(spans[0]!.attributes).toHaveProperty("response_token_ids");
});

test("calls that are left alone", async () => {
  instrument(v03.openai.ChatOpenAI, { capture: false });
  const { spans, value } = await record(() => new v03.openai.ChatOpenAI(fields()).invoke("Hi"), "train");
  expect(value.content).toBe("You said: Hi");
  expect(spans).toEqual([]);
  expect(server.requests.at(-1)!.body).not.toHaveProperty("return_token_ids");
});
