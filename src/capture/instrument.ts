/**
 * `instrument`: makes the model calls of a vendor's object visible, whatever it is.
 *
 * @module
 */
import { say } from "../internal/say.ts";
import { isModel, isModule, isProvider } from "./ai-sdk/kinds.ts";
import { instrumentModel } from "./ai-sdk/model.ts";
import { instrumentModule } from "./ai-sdk/module.ts";
import { instrumentProvider } from "./ai-sdk/provider.ts";
import { instrumentAnthropic, isAnthropicClient } from "./anthropic/client.ts";
import { instrumentLangChain, isLangChain } from "./langchain/install.ts";
import { instrumentMastraAgent, isMastraAgent } from "./mastra/agent.ts";
import { instrumentMcp, isMcpClient } from "./mcp/client.ts";
import { instrumentOpenAI, isOpenAIClient } from "./openai/client.ts";
import type { OpenAIOptions } from "./openai/settings.ts";
import type { Loose } from "./openai/shape.ts";
import { instrumentAgents, isAgentsModule } from "./openai-agents/module.ts";

/** Options of {@link instrument}. */
export type InstrumentOptions = OpenAIOptions;

/** How one vendor's objects are recognised and instrumented. */
interface Vendor {
  readonly is: (value: object) => boolean;
  /** Gives the instrumented object, the same wherever that can be; undefined when it cannot be instrumented. */
  readonly instrument: (value: Loose, options: InstrumentOptions) => object | undefined;
}

const VENDORS: readonly Vendor[] = [
  {
    is: isOpenAIClient,
    instrument: (value, options) => (instrumentOpenAI(value, options) ? value : undefined),
  },
  {
    is: isAnthropicClient,
    instrument: (value, options) => (instrumentAnthropic(value, options) ? value : undefined),
  },
  {
    is: isLangChain,
    instrument: (value, options) => (instrumentLangChain(value, options) ? value : undefined),
  },
  {
    is: isAgentsModule,
    instrument: unlessOff((value, options) => (instrumentAgents(value, options) ? value : undefined)),
  },
  { is: isMastraAgent, instrument: unlessOff(instrumentMastraAgent) },
  { is: isMcpClient, instrument: unlessOff((value) => (instrumentMcp(value) ? value : undefined)) },
  { is: isModule, instrument: unlessOff(instrumentModule) },
  { is: isModel, instrument: unlessOff(instrumentModel) },
  { is: isProvider, instrument: unlessOff(instrumentProvider) },
];

function unlessOff(instrument: Vendor["instrument"]): Vendor["instrument"] {
  return (value, options) => (options.capture === false ? value : instrument(value, options));
}

const warned = new WeakSet<object>();

/**
 * Makes the model calls of `x` visible as spans, in place: the object stays the same, of the same type, and works as
 * before. Takes an OpenAI client (openai 4.19 to 7, Azure and Bedrock clients, and any object with the same methods), an
 * Anthropic client (0.x and 1.x, those for Bedrock, Vertex and Foundry too), an MCP client or its class, by which the calls of
 * its tools are seen, the module `@openai/agents`, a
 * chat model of LangChain's or its class, by which all of LangChain and LangGraph is seen, LangChain's callback manager, or
 * a model of the Vercel AI SDK 5 to 7. Of that SDK it also takes a provider and the module `ai` itself, which cannot be
 * changed in place: what it gives back for them is another object of the same type, and only its calls are recorded.
 * Instrumenting twice changes nothing. What is not recognised, or is frozen, is returned untouched, with one warning
 * on the console, or in OpenTelemetry's diagnostic log where the app listens to it. Never throws.
 *
 * @example
 * ```ts
 * import * as agl from "agentlightning";
 * import OpenAI from "openai";
 * const openai = agl.instrument(new OpenAI({ apiKey: "key" }));
 * ```
 */
export function instrument<T>(x: T, options: InstrumentOptions = {}): T {
  if ((typeof x !== "object" && typeof x !== "function") || x === null) {
    say("warn", "instrument", `instrument() was given ${x === null ? "null" : typeof x}, not a client`);
    return x;
  }
  try {
    const vendor = VENDORS.find((candidate) => candidate.is(x));
    if (vendor === undefined)
      warnOnce(x, "is not a client that instrument() knows; its calls are not recorded");
    else {
      const instrumented = vendor.instrument(x as Loose, options);
      if (instrumented !== undefined) return instrumented as T;
      warnOnce(x, "is frozen; its calls are not recorded");
    }
  } catch (error) {
    warnOnce(x, `could not be instrumented (${String(error)}); its calls are not recorded`);
  }
  return x;
}

function warnOnce(x: object, what: string): void {
  if (warned.has(x)) return;
  warned.add(x);
  const name = typeof x === "function" ? x.name : Object.getPrototypeOf(x)?.constructor?.name;
  const thing = typeof name === "string" && name !== "" ? name : "the object";
  say("warn", `instrument ${thing}`, `${thing} ${what}`);
}
