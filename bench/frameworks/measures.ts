/**
 * A call of each framework, as a program makes it. The frameworks are loaded by name when they are measured: bundled
 * into the program they would be other code than users run.
 *
 * @module
 */
import * as agl from "../../src/index.ts";
import { answering, conversation, streaming } from "../call/model.ts";

/** Makes one call of a framework, to its end. */
type Call = () => Promise<unknown>;

/** Loads a framework and gives a call of it; `recorded` instruments it as its page in the documentation says. */
type Measure = (recorded: boolean) => Promise<Call>;

const MESSAGES = conversation(3, 600);
const MODEL = "qwen2.5-7b-instruct";
const BASE_URL = "http://model/v1";
const CHUNKS = 20;

/** The same for LangChain, whose types want roles that are known one by one. */
const PAIRS = MESSAGES.map(({ role, content }): [string, string] => [role, content]);

const load = async <T>(name: string): Promise<T> => (await import(name)) as T;

type AiSdk = typeof import("ai");
type Compatible = typeof import("@ai-sdk/openai-compatible");

/** Version 6 is recorded through its module, version 7 by its registry alone. */
function aiSdk(names: readonly [ai: string, provider: string], kind: "generate" | "stream"): Measure {
  return async (recorded) => {
    const bare = await load<AiSdk>(names[0]);
    const { createOpenAICompatible } = await load<Compatible>(names[1]);
    const ai = recorded && names[0] === "ai" ? agl.instrument(bare) : bare;
    const fetch = kind === "generate" ? answering() : streaming(CHUNKS);
    const model = createOpenAICompatible({ name: "bench", apiKey: "none", baseURL: BASE_URL, fetch })(MODEL);
    const system = String(MESSAGES[0]?.content);
    const messages = MESSAGES.slice(1).map(({ content }, i) =>
      i % 2 === 0 ? { role: "user" as const, content } : { role: "assistant" as const, content },
    );
    if (kind === "generate") return () => ai.generateText({ model, system, messages });
    return async () => {
      for await (const _ of ai.streamText({ model, system, messages }).textStream) {
        // Read to the end.
      }
    };
  };
}

function langChain(kind: "invoke" | "stream" | "chain"): Measure {
  return async (recorded) => {
    const { ChatOpenAI } = await load<typeof import("@langchain/openai")>("@langchain/openai");
    const prompts = await load<typeof import("@langchain/core/prompts")>("@langchain/core/prompts");
    const parsers = await load<typeof import("@langchain/core/output_parsers")>(
      "@langchain/core/output_parsers",
    );
    if (recorded) agl.instrument(ChatOpenAI);
    const fetch = kind === "stream" ? streaming(CHUNKS) : answering();
    const configuration = { baseURL: BASE_URL, fetch };
    const model = new ChatOpenAI({ model: MODEL, apiKey: "none", maxRetries: 0, configuration });
    if (kind === "invoke") return () => model.invoke(PAIRS);
    if (kind === "chain") {
      const chain = prompts.ChatPromptTemplate.fromMessages([
        ["system", "{system}"],
        ["human", "{question}"],
      ])
        .pipe(model)
        .pipe(new parsers.StringOutputParser());
      const input = { system: MESSAGES[0]?.content, question: MESSAGES[1]?.content };
      return () => chain.invoke(input);
    }
    return async () => {
      for await (const _ of await model.stream(PAIRS)) {
        // Read to the end.
      }
    };
  };
}

/** Every call that is measured, by the words of its row. */
export const MEASURES: Readonly<Record<string, Measure>> = {
  "AI SDK 6, generateText": aiSdk(["ai", "@ai-sdk/openai-compatible"], "generate"),
  [`AI SDK 6, streamText of ${CHUNKS} chunks`]: aiSdk(["ai", "@ai-sdk/openai-compatible"], "stream"),
  "AI SDK 7, generateText": aiSdk(["ai-v7", "ai-compatible-v7"], "generate"),
  [`AI SDK 7, streamText of ${CHUNKS} chunks`]: aiSdk(["ai-v7", "ai-compatible-v7"], "stream"),
  "LangChain, a model's invoke": langChain("invoke"),
  [`LangChain, a model's stream of ${CHUNKS} chunks`]: langChain("stream"),
  "LangChain, invoke of a chain of three": langChain("chain"),
};
