/**
 * The kinds of spans of the Agents SDK that are shown, and their attributes.
 *
 * @module
 */
import { safeJson } from "../../internal/safe-json.ts";
import { flatten } from "../../protocol/flatten.ts";
import type { Attributes } from "../../protocol/json.ts";
import { GenAi } from "../../protocol/semconv.ts";
import type { SpanStart } from "../../trace/open-span.ts";
import { isObject, type Loose } from "../openai/shape.ts";

/** One kind of span. */
export interface Kind {
  start(data: Loose): SpanStart;
  /** Attributes that are known at the end. */
  end(data: Loose): Attributes;
}

const AT = "openai.agents";

/** By the type in the span's data. A model's spans are not among them: the calls themselves are recorded. */
export const KINDS: Readonly<Record<string, Kind>> = {
  agent: {
    start: ({ name }) => ({
      name: `invoke_agent ${name}`,
      agent: String(name),
      attributes: { [GenAi.OperationName]: "invoke_agent" },
    }),
    end: (data) => named(data, ["tools", "handoffs", "output_type"]),
  },
  function: {
    start: ({ name }) => ({
      name: `execute_tool ${name}`,
      attributes: {
        [GenAi.OperationName]: "execute_tool",
        [GenAi.ToolName]: String(name),
        [GenAi.ToolType]: "function",
      },
    }),
    // Both are missing where the run must not tell its data.
    end: ({ input, output, mcp_data: mcp }) => ({
      ...(isText(input) && { [GenAi.ToolArguments]: input }),
      ...(output !== undefined && output !== "" && { [GenAi.ToolResult]: safeJson(output) }),
      ...(isObject(mcp) && isText(mcp["server"]) && { [`${AT}.mcp.server`]: mcp["server"] }),
    }),
  },
  handoff: {
    start: ({ from_agent: from }) => ({ name: `handoff ${from}` }),
    end: (data) => named(data, ["from_agent", "to_agent"]),
  },
  guardrail: {
    start: ({ name }) => ({ name: `guardrail ${name}` }),
    end: ({ triggered }) => ({ [`${AT}.guardrail.triggered`]: triggered === true }),
  },
  mcp_tools: {
    start: ({ server }) => ({ name: `mcp_tools ${server}` }),
    end: ({ server, result }) => named({ "mcp.server": server, tools: result }, ["mcp.server", "tools"]),
  },
  custom: {
    start: ({ name }) => ({ name: `custom ${name}` }),
    end: ({ data }) => flatten(`${AT}.custom`, data ?? {}),
  },
};

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** The fields `names` that are text, or lists of text. */
function named(data: Loose, names: readonly string[]): Attributes {
  const attributes: Attributes = {};
  for (const name of names) {
    const value = data[name];
    if (isText(value)) attributes[`${AT}.${name}`] = value;
    else if (Array.isArray(value)) attributes[`${AT}.${name}`] = value.map(String);
  }
  return attributes;
}
