/**
 * The CommonJS copy of LangChain, whose classes are others than those of its ES modules.
 */
import { createRequire } from "node:module";
import * as esm from "@langchain/core/callbacks/manager";
import { afterAll, beforeAll, expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { type ModelServer, serveModel } from "../../../src/testing/model-server.ts";
import { lines, record } from "./setup.ts";

const require = createRequire(import.meta.url);
const prompts: typeof import("@langchain/core/prompts") = require("@langchain/core/prompts");
const parsers: typeof import("@langchain/core/output_parsers") = require("@langchain/core/output_parsers");
const manager: typeof import("@langchain/core/callbacks/manager") = require("@langchain/core/callbacks/manager");
const singletons: typeof import("@langchain/core/singletons") = require("@langchain/core/singletons");
const callers: typeof import("@langchain/core/utils/async_caller") = require("@langchain/core/utils/async_caller");
const tools: typeof import("@langchain/core/tools") = require("@langchain/core/tools");
const { ChatOpenAI }: typeof import("@langchain/openai") = require("@langchain/openai");

let server: ModelServer;
beforeAll(async () => {
  server = await serveModel();
});
afterAll(() => server.close());

const chainOf = () =>
  prompts.ChatPromptTemplate.fromTemplate("Add {a}")
    .pipe(
      new ChatOpenAI({ model: "toy", apiKey: "none", maxRetries: 0, configuration: { baseURL: server.url } }),
    )
    .pipe(new parsers.StringOutputParser());

test("the copies are two", () => {
  expect(manager.CallbackManager).not.toBe(esm.CallbackManager);
});

test("what is not instrumented is not recorded", async () => {
  expect((await record(() => chainOf().invoke({ a: 1 }))).spans).toEqual([]);
});

test("every part, given alone or with its module, is taken", async () => {
  for (const part of [manager, singletons, callers, ChatOpenAI]) expect(instrument(part)).toBe(part);
  const { _configureSync } = manager.CallbackManager as unknown as Record<string, unknown>;
  instrument(manager.CallbackManager);
  expect((manager.CallbackManager as unknown as Record<string, unknown>)["_configureSync"]).toBe(
    _configureSync,
  );
  const { tree, value } = await record(() => chainOf().invoke({ a: 1 }));
  expect(value).toBe("You said: Add 1");
  expect(tree).toBe(
    lines(
      "chain RunnableSequence",
      "  chain ChatPromptTemplate",
      "  openai.chat.completion",
      "  chain StrOutputParser",
    ),
  );
});

test("without LangChain's context a tool's code still runs inside the tool's span", async () => {
  const outer = tools.tool(async () => chainOf().invoke({ a: 2 }), {
    name: "outer",
    description: "",
    schema: { type: "object", properties: {} },
  });
  const { tree } = await record(() => outer.invoke({}));
  expect(tree).toBe(
    lines(
      "execute_tool outer",
      "  chain RunnableSequence",
      "    chain ChatPromptTemplate",
      "    openai.chat.completion",
      "    chain StrOutputParser",
    ),
  );
});
