/**
 * A rollout that is over has delivered all of LangChain's runs: nothing waits in a queue in the background.
 */
import { RunnableLambda } from "@langchain/core/runnables";
import { afterAll, expect, test } from "vitest";
import * as agl from "../../../src/index.ts";
import { createMemorySink } from "../../../src/testing/index.ts";
import { spanTree } from "../../../src/testing/span-tree.ts";
import { chatOpenAI } from "./chat-openai.ts";
import { lines } from "./setup.ts";

const { modelOf } = chatOpenAI();
afterAll(() => agl.shutdown());

test("rollout and flush, and the process may be frozen", async () => {
  const sink = createMemorySink();
  agl.configure({ exporters: [sink] });
  const chain = RunnableLambda.from((x: string) => `${x}!`).pipe(modelOf());
  await agl.rollout({ input: "x" }, () => chain.batch(["a", "b"]));
  await agl.flush();
  const delivered = [...sink.spans];
  const one = ["  chain RunnableSequence", "    chain RunnableLambda", "    openai.chat.completion"];
  expect(spanTree(delivered)).toBe(lines("agentlightning.rollout", ...one, ...one));
  await new Promise((resolve) => setImmediate(resolve));
  expect(sink.spans).toHaveLength(delivered.length);
});
