/**
 * The tools of the example: what the model is told of them, and what they do.
 *
 * @module
 */
import type { ChatCompletionFunctionTool } from "openai/resources/chat/completions";
// In an app of your own: import * as agl from "agentlightning".
import * as agl from "../../src/index.ts";

const DEGREES: Readonly<Record<string, number>> = { Oslo: -4, Rome: 13 };

const temperature = agl.tool("temperature", async ({ city }: { city: string }) => DEGREES[city] ?? null);

/** For the request. */
export const TOOLS: ChatCompletionFunctionTool[] = [
  {
    type: "function",
    function: {
      name: "temperature",
      description: "Temperature of a city now, in degrees Celsius",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
];

/** Runs the tool `name` with the arguments that the model wrote. */
export async function runTool(name: string, args: string): Promise<string> {
  if (name !== "temperature") return `there is no tool ${name}`;
  return JSON.stringify(await temperature(JSON.parse(args)));
}
