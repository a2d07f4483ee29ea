import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import { CallbackManager } from "@langchain/core/callbacks/manager";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { tool as langChainTool } from "@langchain/core/tools";
import { Client } from "@modelcontextprotocol/client";
import * as agents from "@openai/agents";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { instrument } from "../../../src/capture/instrument.ts";
import { type ModelServer, serveModel, spanTree } from "../../../src/testing/index.ts";
import { steps, VERSIONS } from "../ai-sdk/versions.ts";
import { record } from "../recorded.ts";
import { connected, GENERATIONS } from "./generations.ts";

const MODEL = "openai.chat.completion";
const schema = z.object({ a: z.number(), b: z.number() });
const description = "adds";

let model: ModelServer;
let client: { callTool(params: object): Promise<{ content: Array<{ text: string }> }> };
let close: () => Promise<void>;
beforeEach(async () => {
  const calls = [{ name: "add", arguments: { a: 1, b: 2 } }];
  model = await serveModel({
    reply: ({ messages }) => (messages.at(-1)?.role === "tool" ? "3" : { toolCalls: calls }),
  });
  ({ client, close } = await connected(GENERATIONS[0]!));
  instrument(client);
});
afterEach(async () => {
  await close();
  await model.close();
});

const add = async (input: unknown): Promise<string> =>
  (await client.callTool({ name: "add", arguments: input })).content[0]!.text;

/** The tree of spans, and the server of each tool's span. */
async function seen(use: () => Promise<unknown>) {
  const { spans } = await record(use);
  const tools = spans.filter(({ name }) => name.startsWith("execute_tool"));
  return { tree: spanTree(spans), servers: tools.map(({ attributes }) => attributes["mcp.server.name"]) };
}

test.each(VERSIONS)("ai $major", async (version) => {
  const { ai, createProvider } = await version.load();
  const our = instrument(ai);
  const provider = createProvider({ name: "toy", baseURL: model.url, apiKey: "key" });
  const tools = { add: our.tool({ description, inputSchema: schema, execute: add }) };
  const ask = { model: provider("toy"), tools, prompt: "1+2", stopWhen: steps(ai, 3) };
  const { tree, servers } = await seen(() => our.generateText(ask));
  expect(tree.split("\n").filter((line) => line.includes("execute_tool"))).toHaveLength(1);
  expect(servers).toEqual(["sums"]);
});

test("LangChain", async () => {
  instrument(CallbackManager);
  instrument(AsyncLocalStorageProviderSingleton);
  const search = langChainTool(add, { name: "add", description, schema });
  expect(await seen(() => search.invoke({ a: 1, b: 2 }))).toEqual({
    tree: "execute_tool add",
    servers: ["sums"],
  });
});

test("Anthropic's tool runner, whose tools have no span of their own", async () => {
  const anthropic = instrument(new Anthropic({ apiKey: "key", baseURL: model.origin }));
  const { tree, servers } = await seen(async () => {
    await anthropic.beta.messages.toolRunner({
      model: "toy",
      max_tokens: 64,
      messages: [{ role: "user", content: "1+2" }],
      tools: [{ name: "add", input_schema: { type: "object" }, run: add, parse: (input) => input }],
    });
  });
  expect(tree).toBe(`${MODEL}\nexecute_tool add\n${MODEL}`);
  expect(servers).toEqual(["sums"]);
});

describe("OpenAI Agents", () => {
  const run = (solver: agents.Agent) => {
    const modelProvider = new agents.OpenAIProvider({
      apiKey: "none",
      baseURL: model.url,
      useResponses: false,
    });
    return new agents.Runner({ modelProvider }).run(solver, "1+2");
  };

  test("a function that calls a server's tool", async () => {
    instrument(agents);
    const own = agents.tool({ name: "add", description, parameters: schema, execute: add });
    const { tree, servers } = await seen(() => run(new agents.Agent({ name: "solver", tools: [own] })));
    expect(tree.split("\n").filter((line) => line.includes("execute_tool"))).toHaveLength(1);
    expect(servers).toEqual(["sums"]);
  });

  test("a server of its own, whose client is seen by its class", async () => {
    instrument(agents);
    instrument(Client);
    const program = fileURLToPath(new URL("stdio-server.mjs", import.meta.url));
    const server = new agents.MCPServerStdio({ command: process.execPath, args: [program] });
    await server.connect();
    const { tree, servers } = await seen(() =>
      run(new agents.Agent({ name: "solver", mcpServers: [server] })),
    );
    await server.close();
    expect(tree.split("\n").filter((line) => line.includes("execute_tool"))).toHaveLength(1);
    expect(servers).toEqual(["sums"]);
  });
});
