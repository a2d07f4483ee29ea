import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { EXPORT_NAMES } from "../../src/capture/ai-sdk/module.ts";
import { LIBRARIES } from "../../src/register/libraries.ts";
import { brokenProtectors, openStage, type Stage } from "./stage.ts";

// Each test runs whole processes, as fast as the machine is.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let stage: Stage;
beforeAll(async () => {
  stage = await openStage("register-frameworks");
});
afterAll(() => stage?.close());

/** The same app as an ES module and as CommonJS. */
async function both(
  name: string,
  imports: ReadonlyArray<readonly [names: string, from: string]>,
  body: string,
) {
  const load = imports.map(([names, from]) => `import { ${names} } from "${from}";`);
  const require = imports.map(
    ([names, from]) => `const { ${names.replaceAll(" as ", ": ")} } = require("${from}");`,
  );
  await stage.write(`${name}.mjs`, `${load.join("\n")}\n${body}\nmain();`);
  await stage.write(`${name}.cjs`, `${require.join("\n")}\n${body}\nmain();`);
  return [`${name}.mjs`, `${name}.cjs`];
}

async function compare(files: readonly string[], tree: readonly string[], env: Record<string, string> = {}) {
  const bare = await stage.run(String(files[0]), { by: "nothing", env });
  expect(bare).toMatchObject({ code: 0, spans: [] });
  for (const file of files) {
    const ran = await stage.run(file, { env });
    expect({ ...ran, spans: [], tree: "" }).toEqual(bare);
    expect(ran.tree).toBe(["agentlightning.rollout", ...tree].join("\n"));
  }
  expect(await brokenProtectors(stage, String(files[0]), env)).toEqual([]);
}

test.each([
  ["ai-v5", "ai-compatible-v5", "Experimental_Agent"],
  ["ai", "@ai-sdk/openai-compatible", "ToolLoopAgent"],
  ["ai-v7", "ai-compatible-v7", "ToolLoopAgent"],
])("%s: functions, streams and agents", async (ai, compatible, agent) => {
  const files = await both(
    ai,
    [
      [`generateText, streamText, ${agent} as Agent`, ai],
      ["createOpenAICompatible", compatible],
    ],
    `async function main() {
      const model = createOpenAICompatible({ name: "toy", baseURL: process.env.MODEL_URL })("toy");
      console.log((await generateText({ model, prompt: "one" })).text);
      for await (const part of streamText({ model, prompt: "two" }).textStream) process.stdout.write(part);
      const solver = new Agent({ id: "solver", name: "solver", model });
      console.log((await solver.generate({ prompt: "three" })).text);
      console.log(solver instanceof Agent, solver.constructor === Agent, Agent.name, generateText.name, streamText.length);
    }`,
  );
  await compare(files, [
    "  openai.chat.completion",
    "  openai.chat.completion",
    "  invoke_agent solver [solver]",
    "    openai.chat.completion [solver]",
  ]);
});

test("every name of ai that can be instrumented is handed over", () => {
  const handed = LIBRARIES.find(({ name }) => name === "ai")?.files[0]?.replaced;
  // These two are other names of exports.
  const exported = [
    "Experimental_Agent",
    "experimental_streamTextLowMemory",
    "experimental_streamLanguageModelCall",
  ];
  expect(EXPORT_NAMES.filter((name) => !handed?.includes(name))).toEqual(expect.arrayContaining(exported));
  expect(EXPORT_NAMES.length - (handed?.length ?? 0)).toBe(exported.length);
});

test("LangChain: a runnable, its model with the client inside, a stream", async () => {
  const files = await both(
    "langchain",
    [
      ["ChatOpenAI", "@langchain/openai"],
      ["RunnableLambda", "@langchain/core/runnables"],
    ],
    `async function main() {
      const model = new ChatOpenAI({ model: "toy", apiKey: "none", configuration: { baseURL: process.env.MODEL_URL } });
      const chain = RunnableLambda.from(async (text) => (await model.invoke(text)).content);
      console.log(await chain.invoke("hello"));
      for await (const chunk of await model.stream("again")) process.stdout.write(String(chunk.content));
    }`,
  );
  await compare(files, ["  chain RunnableLambda", "    openai.chat.completion", "  openai.chat.completion"]);
});

test("OpenAI Agents and Anthropic", async () => {
  const answer = {
    id: "m",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [{ type: "text", text: "good day" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: 2 },
  };
  const files = await both(
    "agents",
    [
      ["Agent, run, setOpenAIAPI", "@openai/agents"],
      ["Anthropic", "@anthropic-ai/sdk"],
    ],
    `async function main() {
      setOpenAIAPI("chat_completions");
      const result = await run(new Agent({ name: "solver", model: "toy" }), "hello");
      console.log(result.finalOutput);
      const fetch = async () => Response.json(${JSON.stringify(answer)});
      const anthropic = new Anthropic({ apiKey: "none", fetch });
      const messages = [{ role: "user", content: "hello" }];
      const { content } = await anthropic.messages.create({ model: "claude", max_tokens: 9, messages });
      console.log(content[0].text);
      const beta = await anthropic.beta.messages.create({ model: "claude", max_tokens: 9, messages });
      console.log(beta.content[0].text);
    }`,
  );
  await compare(
    files,
    [
      "  invoke_agent solver [solver]",
      "    openai.chat.completion [solver]",
      "  openai.chat.completion",
      "  openai.chat.completion",
    ],
    {
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: stage.modelUrl,
      OPENAI_AGENTS_DISABLE_TRACING: "",
      NODE_ENV: "",
    },
  );
});

test("MCP clients of both generations", async () => {
  const files = await both(
    "mcp",
    [
      ["Client", "@modelcontextprotocol/sdk/client/index.js"],
      ["McpServer", "@modelcontextprotocol/sdk/server/mcp.js"],
      ["InMemoryTransport", "@modelcontextprotocol/sdk/inMemory.js"],
      ["Client as Client2", "@modelcontextprotocol/client"],
    ],
    `async function main() {
      const about = { name: "app", version: "1.0.0" };
      for (const Class of [Client, Client2]) {
        const server = new McpServer({ name: "docs", version: "1.0.0" });
        server.tool("search", async () => ({ content: [{ type: "text", text: "found" }] }));
        const [here, there] = InMemoryTransport.createLinkedPair();
        await server.connect(there);
        const client = new Class(about);
        await client.connect(here);
        const { content } = await client.callTool({ name: "search", arguments: {} });
        console.log(content[0].text, client.callTool.name, client.constructor === Class);
        await client.close();
      }
    }`,
  );
  await compare(files, ["  execute_tool search", "  execute_tool search"]);
});
