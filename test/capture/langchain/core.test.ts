import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { RunnableLambda } from "@langchain/core/runnables";
import { expect, test } from "vitest";
import { chatOpenAI } from "./chat-openai.ts";
import { lines, record } from "./setup.ts";

const toy = chatOpenAI();
const { modelOf } = toy;

test("a chain with ChatOpenAI: one model span, with token ids, under the chain", async () => {
  const chain = ChatPromptTemplate.fromTemplate("Add {a} and {b}")
    .pipe(modelOf())
    .pipe(new StringOutputParser());
  const { value, spans, tree, open } = await record(() => chain.invoke({ a: 1, b: 2 }), "train");
  expect(value).toBe("You said: Add 1 and 2");
  expect(open).toBe(0);
  expect(tree).toBe(
    lines(
      "chain RunnableSequence",
      "  chain ChatPromptTemplate",
      "  openai.chat.completion",
      "  chain StrOutputParser",
    ),
  );
  const call = spans.find((span) => span.name === "openai.chat.completion")!;
  const answer = toy.server.requests.at(-1)!.answer!;
  expect(call.attributes["gen_ai.prompt.0.content"]).toBe("Add 1 and 2");
  expect(call.attributes["gen_ai.completion.0.content"]).toBe(value);
  expect(call.attributes["prompt_token_ids"]).toEqual(answer.promptIds);
});

test("streamed", async () => {
  const chain = ChatPromptTemplate.fromTemplate("Add {a}").pipe(modelOf()).pipe(new StringOutputParser());
  const { value, tree } = await record(async () => {
    let text = "";
    for await (const piece of await chain.stream({ a: 1 })) text += piece;
    return text;
  }, "train");
  expect(value).toBe("You said: Add 1");
  expect(tree).toBe(
    lines(
      "chain RunnableSequence",
      "  chain ChatPromptTemplate",
      "  openai.chat.completion",
      "  chain StrOutputParser",
    ),
  );
});

test("a lambda that calls a model", async () => {
  const lambda = RunnableLambda.from(async (question: string) => (await modelOf().invoke(question)).content);
  const { tree } = await record(() => lambda.withConfig({ runName: "ask" }).invoke("Hi"));
  expect(tree).toBe(lines("chain ask", "  openai.chat.completion"));
});
