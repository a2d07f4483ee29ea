import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createMCPClient } from "@ai-sdk/mcp";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { instrument } from "../../../src/capture/instrument.ts";
import { GenAi } from "../../../src/protocol/semconv.ts";
import { spanTree } from "../../../src/testing/span-tree.ts";
import { record } from "../recorded.ts";
import { play } from "./scenario.ts";
import { type AnyModule, steps, VERSIONS } from "./versions.ts";

let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer(async (incoming, outgoing) => {
    const mcp = new McpServer({ name: "sums", version: "1.0.0" });
    mcp.registerTool("add", { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
      content: [{ type: "text", text: String(a + b) }],
    }));
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined } as AnyModule);
    outgoing.on("close", () => void transport.close());
    await mcp.connect(transport as AnyModule);
    await transport.handleRequest(incoming, outgoing);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test("tools of an MCP server are tools", async () => {
  const call = {
    reply: () => [{ toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] }, "3"],
    run: async ({ ai, model, note }: AnyModule) => {
      const client = await createMCPClient({ transport: { type: "http", url } });
      try {
        const tools = await client.tools();
        const result = await ai.generateText({
          model: model(),
          prompt: "1+2",
          tools,
          stopWhen: steps(ai, 3),
        });
        note("result", { text: result.text, results: result.steps[0].toolResults });
      } finally {
        await client.close();
      }
    },
  };
  const bare = await play(call, VERSIONS[1]!, (ai) => ai);
  const { value, spans, outcomes } = await record(() => play(call, VERSIONS[1]!, instrument));
  expect(value).toEqual(bare);
  expect(spanTree(spans)).toBe("openai.chat.completion\nexecute_tool add\nopenai.chat.completion");
  expect(outcomes).toEqual(["ok", "ok", "ok"]);
  const { attributes } = spans[1]!;
  expect(attributes[GenAi.ToolArguments]).toBe('{"a":1,"b":2}');
  expect(JSON.parse(String(attributes[GenAi.ToolResult])).content).toEqual([{ type: "text", text: "3" }]);
});
