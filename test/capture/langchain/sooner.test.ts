/**
 * A run that starts in the very turn in which LangChain is instrumented.
 */
import { createRequire } from "node:module";
import { RunnableLambda } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import * as v03 from "langchain-v03";
import { expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { lines, record } from "./setup.ts";

const require = createRequire(import.meta.url);
const cjs: typeof import("@langchain/core/utils/testing") = require("@langchain/core/utils/testing");
const cjsRunnables: typeof import("@langchain/core/runnables") = require("@langchain/core/runnables");

test.each([
  { name: "core 1.x", Model: FakeListChatModel, Lambda: RunnableLambda },
  { name: "its CommonJS copy", Model: cjs.FakeListChatModel, Lambda: cjsRunnables.RunnableLambda },
  {
    name: "core 0.3",
    Model: v03.testing.FakeListChatModel as unknown as typeof FakeListChatModel,
    Lambda: v03.runnables.RunnableLambda as unknown as typeof RunnableLambda,
  },
])("$name: its chain is recorded", async ({ Model, Lambda }) => {
  const chain = Lambda.from((x: string) => x).pipe(new Model({ responses: ["hi"] }));
  const { tree } = await record(() => {
    instrument(Model);
    return chain.invoke("x");
  });
  expect(tree).toBe(lines("chain RunnableSequence", "  chain RunnableLambda", "  openai.chat.completion"));
});
