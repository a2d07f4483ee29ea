import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { describe, expect, test, vi } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { operation } from "../../../src/capture/operation.ts";
import { tool } from "../../../src/capture/tool.ts";
import { record } from "../recorded.ts";
import { describe as inWords } from "../transcript.ts";
import { addTools, connected, GENERATIONS, type Generation } from "./generations.ts";

const ADD = { name: "add", arguments: { a: 1, b: 2 } };
const THREE = { content: [{ type: "text", text: "3" }] };
const SERVER = {
  "mcp.method.name": "tools/call",
  "mcp.server.name": "sums",
  "mcp.server.version": "1.2.3",
};

/** What a call of `use` gives, or throws, in words. */
async function outcome(use: () => Promise<unknown>): Promise<unknown> {
  try {
    return ["value", inWords(await use())];
  } catch (error) {
    return ["thrown", inWords(error)];
  }
}

/** Ways of calling, with what becomes of the span. */
const WAYS: ReadonlyArray<{
  name: string;
  use: (generation: Generation, client: unknown, note: (what: unknown) => void) => Promise<unknown>;
  ends: string;
}> = [
  { name: "a call", use: (g, c) => g.call(c, ADD), ends: "ok" },
  { name: "a tool that says it failed", use: (g, c) => g.call(c, { name: "fail" }), ends: "error" },
  { name: "a tool that throws", use: (g, c) => g.call(c, { name: "throw", arguments: {} }), ends: "error" },
  { name: "a tool that is unknown", use: (g, c) => g.call(c, { name: "nothing" }), ends: "error" },
  {
    name: "arguments that do not fit",
    use: (g, c) => g.call(c, { name: "add", arguments: { a: "x" } }),
    ends: "error",
  },
  { name: "a time-out", use: (g, c) => g.call(c, { name: "hang" }, { timeout: 5 }), ends: "error" },
  {
    name: "cancelled",
    use: (g, c) => {
      const controller = new AbortController();
      const call = g.call(c, { name: "hang" }, { signal: controller.signal });
      setImmediate(() => controller.abort("enough"));
      return call;
    },
    ends: "aborted",
  },
  {
    name: "cancelled before",
    use: (g, c) => g.call(c, ADD, { signal: AbortSignal.abort("enough") }),
    ends: "aborted",
  },
  {
    name: "progress",
    use: (g, c, note) => g.call(c, { name: "slow" }, { onprogress: note }),
    ends: "ok",
  },
];

describe.each(GENERATIONS)("$name", (generation) => {
  test.each(WAYS)("$name: the same with and without", async ({ use, ends }) => {
    const bare = await connected(generation);
    const notes: unknown[] = [];
    const wanted = await outcome(() => use(generation, bare.client, (note) => notes.push(note)));
    await bare.close();
    const { client, close } = await connected(generation);
    expect(instrument(client)).toBe(client);
    const ourNotes: unknown[] = [];
    const { value, spans, outcomes, open } = await record(() =>
      outcome(() => use(generation, client, (note) => ourNotes.push(note))),
    );
    expect(value).toEqual(wanted);
    expect(ourNotes).toEqual(notes);
    expect([spans.length, open, outcomes]).toEqual([1, 0, [ends]]);
    // Outside a rollout nothing is recorded, and nothing is different.
    expect(await outcome(() => use(generation, client, () => {}))).toEqual(wanted);
    await close();
  });

  test("a call's span has the tool, its arguments, its result and the server", async () => {
    const { client, close } = await connected(generation);
    instrument(client);
    const { spans } = await record(async () => {
      await client.listTools();
      await client.callTool(ADD);
      await client.callTool({ name: "fail" });
      await generation.call(client, { name: "hang" }, { timeout: 5 }).catch(() => undefined);
    });
    const own = /^(?!agentlightning\.(rollout|attempt)_id)/;
    const attributes = spans.map((span) =>
      Object.fromEntries(Object.entries(span.attributes).filter(([name]) => own.test(name))),
    );
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
      ["execute_tool add", 2],
      ["execute_tool fail", 2],
      ["execute_tool hang", 2],
    ]);
    expect(attributes[0]).toEqual({
      ...SERVER,
      "agentlightning.outcome": "ok",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "add",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.arguments": '{"a":1,"b":2}',
      "gen_ai.tool.call.result": JSON.stringify(THREE),
      "mcp.tool.name": "add",
    });
    expect(attributes[1]).toMatchObject({
      "agentlightning.outcome": "error",
      "error.type": "tool_error",
      "mcp.tool.is_error": true,
      "gen_ai.tool.call.arguments": "{}",
    });
    expect(attributes[2]).toMatchObject({
      "agentlightning.outcome": "error",
      "mcp.error.code": generation.name.endsWith("1") ? -32001 : "REQUEST_TIMEOUT",
    });
    await close();
  });

  test("a tool's own span stands for the call that it makes, once; other calls have theirs", async () => {
    const { client, close } = await connected(generation);
    instrument(client);
    const call = () => client.callTool(ADD);
    const { spans } = await record(async () => {
      await tool("add", call)();
      await tool("mcp__sums__add", call)();
      await tool("sums-add", call)();
      await tool("add", () => call().then(call))();
      await tool("madd", call)();
      await tool("research", call)();
      await tool("add", () => operation("inner", call)())();
      await tool("fail", () => client.callTool({ name: "fail" }))();
      await tool("nothing", () => client.callTool({ name: "nothing" }).catch(() => "none"))();
    });
    const at = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
    expect(
      spans.map(({ name, attributes, parentSpanContext }) => [
        name,
        at.get(parentSpanContext?.spanId ?? "") ?? "",
        attributes["mcp.tool.name"] ?? "",
      ]),
    ).toEqual([
      ["execute_tool add", "", "add"],
      ["execute_tool mcp__sums__add", "", "add"],
      ["execute_tool sums-add", "", "add"],
      ["execute_tool add", "execute_tool add", "add"],
      ["execute_tool add", "", "add"],
      ["execute_tool add", "execute_tool madd", "add"],
      ["execute_tool madd", "", ""],
      ["execute_tool add", "execute_tool research", "add"],
      ["execute_tool research", "", ""],
      ["execute_tool add", "agentlightning.operation", "add"],
      ["agentlightning.operation", "execute_tool add", ""],
      ["execute_tool add", "", ""],
      ["execute_tool fail", "", "fail"],
      ["execute_tool nothing", "", "nothing"],
    ]);
    expect(spans[0]!.attributes).toMatchObject(SERVER);
    const failed = spans.find(({ name }) => name === "execute_tool fail")!.attributes;
    expect(failed).toMatchObject({ "mcp.tool.is_error": true, "error.type": "tool_error" });
    await close();
  });

  test("what the server does in this process is below the call", async () => {
    const { client, close } = await connected(generation);
    const outer = await connected(generation);
    instrument(client);
    instrument(outer.client);
    const { spans } = await record(() =>
      tool("ask", () => Promise.all([client.callTool(ADD), outer.client.callTool(ADD)]))(),
    );
    expect(spans.map(({ name }) => name)).toEqual([
      "execute_tool add",
      "execute_tool add",
      "execute_tool ask",
    ]);
    await close();
    await outer.close();
  });

  test("the class, for clients that other libraries make; twice changes nothing; no call, no span", async () => {
    class Client extends generation.Client {
      callTool(...args: unknown[]): unknown {
        return super.callTool(...args);
      }
    }
    expect(instrument(Client)).toBe(Client);
    instrument(Client);
    const { client, close } = await connected({ ...generation, Client });
    instrument(client);
    expect(Object.hasOwn(client, "callTool")).toBe(false);
    expect((await record(() => client.callTool(ADD))).spans).toHaveLength(1);
    expect((await record(() => client.callTool().catch(() => 0))).spans).toHaveLength(0);
    await close();
    const silent = await connected(generation);
    instrument(silent.client, { capture: false });
    expect((await record(() => silent.client.callTool(ADD))).spans).toHaveLength(0);
    await silent.close();
  });

  test("a server in a process of its own", async () => {
    const client = instrument(new generation.Client({ name: "test", version: "0" }));
    const program = fileURLToPath(new URL("stdio-server.mjs", import.meta.url));
    await client.connect(generation.stdio(process.execPath, [program]));
    const { value, spans } = await record(() => client.callTool(ADD));
    expect(value).toMatchObject(THREE);
    expect(spans.map(({ attributes }) => attributes)).toMatchObject([{ ...SERVER, "mcp.tool.name": "add" }]);
    await client.close();
  });

  test("a server on the network, with its session", async () => {
    const server = new McpServer({ name: "sums", version: "1.2.3" });
    addTools(server);
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => "session-1" });
    await server.connect(transport as Parameters<McpServer["connect"]>[0]);
    const http = createServer((request, response) => void transport.handleRequest(request, response));
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
    const client = instrument(new generation.Client({ name: "test", version: "0" }));
    await client.connect(generation.http(url));
    const { value, spans } = await record(() => client.callTool(ADD));
    expect(value).toMatchObject(THREE);
    expect(spans.map(({ attributes }) => attributes)).toMatchObject([
      { ...SERVER, "mcp.session.id": "session-1", "agentlightning.outcome": "ok" },
    ]);
    await client.close();
    await server.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
});

test("a frozen client is left alone with a warning, and what only looks alike is no client", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const client = Object.freeze(new GENERATIONS[0]!.Client({ name: "test", version: "0" }));
  expect(instrument(client)).toBe(client);
  instrument({ callTool() {}, connect() {} });
  expect(warn).toHaveBeenCalledTimes(2);
  warn.mockRestore();
});
