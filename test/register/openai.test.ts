import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { brokenProtectors, openStage, type Stage } from "./stage.ts";

// Each test runs whole processes, as fast as the machine is.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let stage: Stage;
beforeAll(async () => {
  stage = await openStage("register-openai");
});
afterAll(() => stage?.close());

const PACKAGES = ["openai-v419", "openai-v4", "openai-v5", "openai", "openai-v7"];

/** A whole answer, a stream, a subclass and embeddings of each copy; prints what the app sees of them. */
const BODY = `
const request = { model: "toy", messages: [{ role: "user", content: "hello" }] };
async function main() {
  for (const OpenAI of COPIES) {
    const options = { baseURL: process.env.MODEL_URL, apiKey: "none" };
    const client = new OpenAI(options);
    class Mine extends OpenAI {}
    const whole = await client.chat.completions.create(request);
    let text = "";
    for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? "";
    }
    const mine = await new Mine(options).chat.completions.create(request);
    await client.embeddings.create({ model: "toy", input: "hello" });
    const { completions } = client.chat;
    console.log(whole.choices[0].message.content, text, mine.choices[0].message.content);
    console.log(client.constructor === OpenAI, OpenAI.name, completions.create.name, completions.create.length);
    console.log(Reflect.ownKeys(completions), Object.keys(client), Object.keys(OpenAI));
    const error = await client.chat.completions.create(request, { signal: AbortSignal.abort() }).catch((reason) => reason);
    console.log(error.constructor.name, error.message);
  }
}
main();
`;
const CALLS = [
  "  openai.chat.completion",
  "  openai.chat.completion",
  "  openai.chat.completion",
  "  openai.embedding",
  "  openai.chat.completion",
];

test.each([
  ["mjs", (name: string, i: number) => `import Copy${i} from "${name}";`],
  ["cjs", (name: string, i: number) => `const { OpenAI: Copy${i} } = require("${name}");`],
])(
  "every copy that an unmodified app loads is recorded, and the app sees nothing of it (%s)",
  async (type, load) => {
    const file = `app.${type}`;
    const copies = `const COPIES = [${PACKAGES.map((_, i) => `Copy${i}`)}];`;
    await stage.write(file, `${PACKAGES.map(load).join("\n")}\n${copies}${BODY}`);
    const bare = await stage.run(file, { by: "nothing" });
    expect(bare).toMatchObject({ code: 0, stderr: "", spans: [] });
    for (const by of ["argument", "variable"] as const) {
      const { spans, tree, ...seen } = await stage.run(file, { by });
      expect({ ...seen, spans: [], tree: "" }).toEqual(bare);
      expect(tree).toBe(["agentlightning.rollout", ...PACKAGES.flatMap(() => CALLS)].join("\n"));
      const calls = spans.filter((span) => span.name === "openai.chat.completion");
      expect(calls.map((span) => span.attributes["agentlightning.outcome"])).toEqual(
        PACKAGES.flatMap(() => ["ok", "ok", "ok", "aborted"]),
      );
    }
    expect(await brokenProtectors(stage, file)).toEqual([]);
  },
);

test("a client that is instrumented by hand too is recorded once, as it was told", async () => {
  await stage.write(
    "both.mts",
    `import OpenAI from "openai";
import * as agl from "${stage.root}/src/index.ts";
const options = { baseURL: process.env.MODEL_URL, apiKey: "none" };
const ask = (client: OpenAI) => client.chat.completions.create({ model: "toy", messages: [{ role: "user", content: "hello" }] });
await agl.agent("told", () => ask(agl.instrument(new OpenAI(options), { tokenIds: true })));
await agl.agent("plain", () => ask(new OpenAI(options)));
await agl.agent("silent", () => ask(agl.instrument(new OpenAI(options), { capture: false }).withOptions({ timeout: 9_000 })));
`,
  );
  const ran = await stage.run("both.mts", { node: ["--import", "tsx"] });
  expect(ran).toMatchObject({ code: 0, stderr: "", stdout: "" });
  expect(ran.tree).toBe(
    [
      "agentlightning.rollout",
      "  invoke_agent told [told]",
      "    openai.chat.completion [told]",
      "  invoke_agent plain [plain]",
      "    openai.chat.completion [plain]",
      "  invoke_agent silent [silent]",
    ].join("\n"),
  );
  const ids = ran.spans.filter((span) => "response_token_ids" in span.attributes);
  expect(ids.map((span) => span.attributes["agent.name"])).toEqual(["told"]);
});
