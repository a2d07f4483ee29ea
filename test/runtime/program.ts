/**
 * A program that a controller starts: the whole process is one rollout, by its environment.
 *
 * @module
 */
import * as agl from "../../src/index.ts";

const work = agl.tool("work", async (n: number) => n + 1);
await agl.agent("solver", () => work(1));
const asked: unknown[] = [];
const create = async (body: object) => void asked.push("return_token_ids" in body);
const openai = agl.instrument({ chat: { completions: { create } } });
await openai.chat.completions.create({ model: "toy" });
const joined = await agl.rollout({ input: "ignored", mode: "train" }, async ({ rolloutId }) => {
  await openai.chat.completions.create({ model: "toy" });
  agl.emitReward(0.5);
  return rolloutId;
});
const { value, stored, reward } = joined;
console.log(JSON.stringify({ value, stored, reward, asked }));
// No flush and no shutdown: the end of the process delivers.
