/**
 * The 0.3 line of LangChain's core, in both of its copies.
 */
import { createRequire } from "node:module";
import * as esm from "langchain-v03";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { openRuns } from "../../../src/capture/langchain/runs.ts";
import { type ModelServer, serveModel } from "../../../src/testing/model-server.ts";
import { currentScope } from "../../../src/trace/scope.ts";
import { lines, record, recordAll } from "./setup.ts";

let server: ModelServer;
beforeAll(async () => {
  server = await serveModel();
});
afterAll(() => server.close());

const require = createRequire(import.meta.resolve("langchain-v03/package.json"));
type Core = Pick<
  typeof esm,
  "manager" | "models" | "messages" | "prompts" | "singletons" | "testing" | "tools" | "openai"
>;
const loadCjs = async (): Promise<Core> => ({
  manager: require("@langchain/core/callbacks/manager"),
  models: require("@langchain/core/language_models/chat_models"),
  messages: require("@langchain/core/messages"),
  prompts: require("@langchain/core/prompts"),
  singletons: require("@langchain/core/singletons"),
  testing: require("@langchain/core/utils/testing"),
  tools: require("@langchain/core/tools"),
  openai: require("@langchain/openai"),
});

describe.each([
  { name: "ES modules", load: async (): Promise<Core> => esm },
  { name: "CommonJS", load: loadCjs },
])("$name", ({ load }) => {
  let core: Core;
  beforeAll(async () => {
    core = await load();
    for (const part of [core.manager, core.models, core.singletons]) instrument(part);
  });

  /** A model with a client of OpenAI's inside, and a limit on its calls. */
  const createModel = () => {
    class Own extends core.models.BaseChatModel {
      client = new OpenAI({ apiKey: "none", baseURL: server.url });
      _llmType() {
        return "own";
      }
      async _generate(messages: unknown[]) {
        const content = String((messages[0] as { content: unknown }).content);
        const answer = await this.caller.call(() =>
          this.client.chat.completions.create({ model: "toy", messages: [{ role: "user", content }] }),
        );
        const text = String(answer.choices[0]?.message.content);
        return { generations: [{ text, message: new core.messages.AIMessage(text) }] };
      }
    }
    return new Own({ maxConcurrency: 1 });
  };

  test("a chain, its model's own client, whole and at once in six rollouts", async () => {
    const chain = core.prompts.ChatPromptTemplate.fromTemplate("Add {a}").pipe(createModel());
    const all = await recordAll(
      Array.from({ length: 6 }, (_, a) => async () => (await chain.invoke({ a })).content),
      "train",
    );
    for (const [a, { tree, value, spans, open }] of all.entries()) {
      expect([value, open]).toEqual([`You said: Add ${a}`, 0]);
      expect(tree).toBe(
        lines("chain RunnableSequence", "  chain ChatPromptTemplate", "  openai.chat.completion"),
      );
      const call = spans.find((span) => span.name === "openai.chat.completion")!;
      expect(call.attributes).toHaveProperty("response_token_ids");
      expect(call.attributes["gen_ai.prompt.0.content"]).toBe(`Add ${a}`);
    }
    expect(openRuns()).toBe(0);
  });

  test("a model without a client, streamed and left", async () => {
    const model = new core.testing.FakeListChatModel({ responses: ["one two"] });
    const whole = await record(async () => {
      let text = "";
      for await (const piece of await model.stream("Hi")) text += piece.content;
      return text;
    });
    expect(whole.spans.map((span) => span.attributes["gen_ai.completion.0.content"])).toEqual([whole.value]);
    const left = await record(async () => {
      for await (const _ of await model.stream("Hi")) break;
    });
    expect(left.spans.map((span) => span.attributes["agentlightning.outcome"])).toEqual(["cancelled"]);
    expect(openRuns()).toBe(0);
  });

  test("a tool's code runs inside the tool's span", async () => {
    const search = core.tools.tool(async () => String(currentScope()?.span?.name), {
      name: "search",
      description: "",
      schema: { type: "object", properties: {} },
    });
    const { tree, value } = await record(() => search.invoke({}));
    expect([tree, value]).toEqual(["execute_tool search", "execute_tool search"]);
  });
});
