// An agent on the built package: 20 rollouts at once, each with a whole answer, a tool, a stream and a reward.
import assert from "node:assert/strict";
import OpenAI from "openai";
import * as agl from "../../dist/index.js";

const openai = agl.instrument(new OpenAI({ baseURL: process.env.MODEL_URL, apiKey: "none" }));
const next = agl.tool("next", async (number) => {
  await new Promise((resolve) => setTimeout(resolve, 2));
  return number + 1;
});

async function echo({ input }) {
  const request = { model: "toy", messages: [{ role: "user", content: `number ${input}` }] };
  const whole = await openai.chat.completions.create(request);
  assert.equal(await next(input), input + 1);
  let streamed = "";
  for await (const chunk of await openai.chat.completions.create({ ...request, stream: true })) {
    streamed += chunk.choices[0]?.delta.content ?? "";
  }
  assert.equal(streamed, whole.choices[0].message.content);
  agl.emitReward(input);
}

await Promise.all(
  Array.from({ length: 20 }, (_, input) =>
    agl.rollout({ input, mode: "train" }, (task) => agl.agent("echo", () => echo(task))),
  ),
);
const { failed, pending } = await agl.shutdown();
assert.deepEqual({ failed, pending }, { failed: 0, pending: 0 });
