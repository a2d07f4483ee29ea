// An app that knows nothing of Agent Lightning: a planner and a solver, each with a client of its own.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, ToolLoopAgent } from "ai";
import OpenAI from "openai";

const baseURL = process.env.MODEL_URL;
const task = process.argv[2] ?? "6 times 7";

const openai = new OpenAI({ baseURL, apiKey: "none" });
const plan = await openai.chat.completions.create({
  model: "toy",
  messages: [{ role: "user", content: `Plan: ${task}` }],
});

const model = createOpenAICompatible({ name: "toy", baseURL })("toy");
const solver = new ToolLoopAgent({ id: "solver", model });
const { text } = await solver.generate({ prompt: plan.choices[0].message.content });
const { text: judged } = await generateText({ model, prompt: `Judge: ${text}` });
console.log(`${text}: ${judged}`);
