/**
 * Calls of an MCP client's tools as spans. Where the code around already runs in the span of the very tool that it
 * calls, a framework's or one of `tool()`, that span gets the server's attributes and none is added.
 *
 * @module
 */
import { ownGlobal } from "../../internal/own-global.ts";
import { safeJson } from "../../internal/safe-json.ts";
import type { Attributes } from "../../protocol/json.ts";
import { GenAi } from "../../protocol/semconv.ts";
import type { OpenSpan } from "../../trace/open-span.ts";
import { startSpan } from "../../trace/recorder.ts";
import { currentScope, withScope } from "../../trace/scope.ts";
import { followResult, type ResultListener } from "../follow-result.ts";
import { isObject, type Loose, objectAt } from "../openai/shape.ts";
import { type Method, patch } from "../patch.ts";
import { toolStart } from "../tool.ts";

/** Tools' spans that stand for a call of a server's tool already. */
const taken = ownGlobal("mcp-tools", () => new WeakSet<OpenSpan>());

/** True for an MCP client of either generation of the SDK, or its class. */
export function isMcpClient(value: object): value is Loose {
  const methods = methodsOf(value);
  return (
    isObject(methods) &&
    ["callTool", "listTools", "connect"].every((name) => typeof methods[name] === "function")
  );
}

/** Replaces `callTool`, of one client or of the class; false when the client refuses it, being frozen. */
export function instrumentMcp(value: object): boolean {
  return patch(methodsOf(value) as object, "callTool", recorded);
}

function methodsOf(value: object): unknown {
  return typeof value === "function" ? value.prototype : value;
}

function recorded(original: Method): Method {
  return function callTool(this: unknown, ...args: unknown[]): unknown {
    const run = () => original.apply(this, args);
    const begun = begin(this, args);
    if (begun === undefined) return run();
    const { span, call } = begun;
    // A result that refuses to be read leaves the span to the end of the rollout.
    return followResult(span === undefined ? run : () => withScope({ span }, run), call);
  };
}

/** Opens the record of a call; `span` is its own, when it has one. */
function begin(
  client: unknown,
  args: unknown[],
): { span: OpenSpan | undefined; call: ResultListener } | undefined {
  try {
    const [params] = args;
    if (!isObject(params)) return undefined;
    const { name } = params;
    const scope = currentScope();
    if (typeof name !== "string" || name === "" || scope?.suppressed === true) return undefined;
    const outer = scope?.span;
    if (outer !== undefined && isSpanOf(outer, name) && !outer.ended && !taken.has(outer)) {
      taken.add(outer);
      outer.setAttributes(serverAttributes(client, name));
      return { span: undefined, call: follow(outer, args, false) };
    }
    const { attributes, ...start } = toolStart(name, params["arguments"] ?? {});
    Object.assign(attributes, serverAttributes(client, name));
    const span = startSpan({ ...start, attributes, client: true });
    if (span === undefined) return undefined;
    taken.add(span);
    return { span, call: follow(span, args, true) };
  } catch {
    // A call of a shape that nobody knows yet.
    return undefined;
  }
}

const TOOL_SPAN = "execute_tool ";

/** Frameworks put the server's name before the tool's (`docs_search`, `mcp__docs__search`). */
function isSpanOf(span: OpenSpan, name: string): boolean {
  if (!span.name.startsWith(TOOL_SPAN) || !span.name.endsWith(name)) return false;
  const before = span.name.slice(TOOL_SPAN.length, -name.length);
  return before === "" || /[^a-z0-9]$/i.test(before);
}

/** `whole` is true for a call with a span of its own; the end of another's is not ours. */
function follow(span: OpenSpan, args: unknown[], whole: boolean): ResultListener {
  return {
    answered(result) {
      const failed = isObject(result) && result["isError"] === true;
      if (failed) span.setAttributes({ "error.type": "tool_error", "mcp.tool.is_error": true });
      if (!whole) return;
      span.setAttribute(GenAi.ToolResult, safeJson(result));
      span.end({ outcome: failed ? "error" : "ok" });
    },
    failed(error) {
      const code = isObject(error) ? error["code"] : undefined;
      if (typeof code === "number" || typeof code === "string") span.setAttribute("mcp.error.code", code);
      if (whole) span.end({ outcome: isAborted(args) ? "aborted" : "error", error });
    },
  };
}

function isAborted(args: unknown[]): boolean {
  return args.some((options) => objectAt(options, ["signal"])?.["aborted"] === true);
}

/** The server as it named itself when the client connected. */
function serverAttributes(client: unknown, tool: string): Attributes {
  const attributes: Attributes = { "mcp.method.name": "tools/call", "mcp.tool.name": tool };
  if (!isObject(client)) return attributes;
  const { getServerVersion: told } = client;
  const server: unknown = typeof told === "function" ? told.call(client) : undefined;
  const { name, version } = isObject(server) ? server : {};
  const session = objectAt(client, ["transport"])?.["sessionId"];
  if (typeof name === "string") attributes["mcp.server.name"] = name;
  if (typeof version === "string") attributes["mcp.server.version"] = version;
  if (typeof session === "string") attributes["mcp.session.id"] = session;
  return attributes;
}
