/**
 * An MCP server as a program of its own.
 *
 * @module
 */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { addTools } from "./generations.ts";

const server = new McpServer({ name: "sums", version: "1.2.3" });
addTools(server);
await server.connect(new StdioServerTransport());
