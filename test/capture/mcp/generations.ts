/**
 * Both generations of the MCP SDK, behind one way to start a server and a client.
 *
 * @module
 */
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
  InMemoryTransport as MemoryV2,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport as MemoryV1 } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as ServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpServer as ServerV2 } from "@modelcontextprotocol/server";
import { z } from "zod";

// biome-ignore lint/suspicious/noExplicitAny: one test runs against two generations with different types.
type Any = any;

/** One generation. */
export interface Generation {
  name: string;
  Client: Any;
  Server: Any;
  /** A pair of ends in this process. */
  pair(): [Any, Any];
  http(url: URL): Any;
  stdio(command: string, args: string[]): Any;
  /** Calls a tool with request options, which stand at another place in each. */
  call(client: Any, params: object, options?: object): Promise<Any>;
}

export const GENERATIONS: readonly Generation[] = [
  {
    name: "@modelcontextprotocol/sdk 1",
    Client: ClientV1,
    Server: ServerV1,
    pair: () => MemoryV1.createLinkedPair(),
    http: (url) => new HttpV1(url),
    stdio: (command, args) => new StdioV1({ command, args, stderr: "ignore" }),
    call: (client, params, options) => client.callTool(params, undefined, options),
  },
  {
    name: "@modelcontextprotocol/client 2",
    Client: ClientV2,
    Server: ServerV2,
    pair: () => MemoryV2.createLinkedPair(),
    http: (url) => new HttpV2(url),
    stdio: (command, args) => new StdioV2({ command, args, stderr: "ignore" }),
    call: (client, params, options) => client.callTool(params, options),
  },
];

const said = (text: string) => ({ content: [{ type: "text", text }] });

/** Gives `server` the tools of the tests; `hang` never answers. */
export function addTools(server: Any): void {
  const sum = z.object({ a: z.number(), b: z.number() });
  // Generation 1 takes the fields, generation 2 the schema.
  const input = server instanceof ServerV1 ? sum.shape : sum;
  server.registerTool("add", { inputSchema: input }, async ({ a, b }: { a: number; b: number }) =>
    said(`${a + b}`),
  );
  server.registerTool("fail", {}, async () => ({ ...said("no"), isError: true }));
  server.registerTool("throw", {}, async () => {
    throw new RangeError("broken");
  });
  server.registerTool("hang", {}, () => new Promise(() => {}));
  server.registerTool("slow", {}, async (...args: Any[]) => {
    const extra = args.at(-1);
    const progressToken = (extra._meta ?? extra.mcpReq?._meta)?.progressToken;
    const notify = extra.sendNotification ?? extra.mcpReq?.notify;
    for (const progress of [1, 2]) {
      await notify({ method: "notifications/progress", params: { progressToken, progress, total: 2 } });
    }
    return said("done");
  });
}

/** A client that is connected to a server with the tools, both in this process. */
export async function connected(
  generation: Generation,
): Promise<{ client: Any; close: () => Promise<void> }> {
  const server = new generation.Server({ name: "sums", version: "1.2.3" });
  addTools(server);
  const client = new generation.Client({ name: "test", version: "0" });
  const [ours, theirs] = generation.pair();
  await server.connect(theirs);
  await client.connect(ours);
  return {
    client,
    close: async () => {
      await client.close();
      await server.close();
    },
  };
}
