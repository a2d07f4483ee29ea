import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStage, type Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage("register-openai");
});
afterAll(() => stage?.close());

const PACKAGES = ["openai-v419", "openai-v4", "openai-v5", "openai", "openai-v7"];

/** Whole answer, stream, and a subclass; prints what it sees of the client and of the answers. */
const BODY = `
const client = new OpenAI({ baseURL: process.env.MODEL_URL, apiKey: "none" });
class Mine extends OpenAI {}
const request = { model: "toy", messages: [{ role: "user", content: "hello" }] };
async function main() {
  const whole = await client.chat.completions.create(request);
  console.log(whole.choices[0].message.content, Object.keys(client.chat.completions).join());
  let text = "";
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  console.log(text, client.constructor === OpenAI, client.chat.completions.create.name, OpenAI.name);
  const mine = await new Mine({ baseURL: process.env.MODEL_URL, apiKey: "none" }).chat.completions.create(request);
  console.log(mine.choices[0].message.content);
  await client.embeddings.create({ model: "toy", input: "hello" });
}
main();
`;
const TREE = [
  "agentlightning.rollout",
  "  openai.chat.completion",
  "  openai.chat.completion",
  "  openai.chat.completion",
  "  openai.embedding",
].join("\n");

describe.each(PACKAGES)("%s", (name) => {
  test.each([
    ["mjs", `import OpenAI from "${name}";`],
    ["cjs", `const { OpenAI } = require("${name}");`],
  ])("an unmodified app is recorded (%s)", async (type, load) => {
    const file = `${name}.${type}`;
    await stage.write(file, load + BODY);
    const bare = await stage.run(file, { by: "nothing" });
    expect(bare).toMatchObject({ code: 0, spans: [] });
    const ran = await stage.run(file);
    expect({ ...ran, spans: [], tree: "" }).toEqual({ ...bare, tree: "" });
    expect(ran.tree).toBe(TREE);
  });
});
