/**
 * Three agents by hand, of which one is trained: the solver's calls have token ids and rewards, and its name selects
 * them; the others run as ever. Runs by itself against a model server of its own; with a base URL as its argument it asks
 * that server.
 *
 * @module
 */
import OpenAI from "openai";
import * as agl from "../../src/index.ts";
import { createMemorySink, serveModel, spanTree } from "../../src/testing/index.ts";
import { reply } from "./model.ts";
import { solve } from "./team.ts";

const given = process.argv[2];
const server = given === undefined ? await serveModel({ reply }) : undefined;
const sink = createMemorySink();
agl.configure({ exporters: [sink] });
try {
  const options = { baseURL: given ?? server?.url ?? "", apiKey: "none" };
  const policy = agl.instrument(new OpenAI(options));
  const fixed = agl.instrument(new OpenAI(options), { tokenIds: false });
  const { value, reward } = await agl.rollout({ input: "6 times 7", mode: "train" }, ({ input }) =>
    solve({ policy, fixed }, String(input)),
  );
  await agl.flush();
  console.log(spanTree(sink.spans));
  console.log(`\nanswer ${value}, reward ${reward}`);
  for (const name of ["planner", "solver", "critic"]) {
    const calls = sink.spans.filter(
      (span) => span.name === "openai.chat.completion" && span.attributes["agent.name"] === name,
    );
    const trained = calls.filter((span) => "response_token_ids" in span.attributes);
    console.log(`${name}: ${calls.length} model calls, ${trained.length} to train on`);
  }
} finally {
  await agl.shutdown();
  await server?.close();
}
