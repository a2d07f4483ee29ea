/**
 * Three agents by hand, of which one is trained: the solver's calls have token ids and rewards, and its name selects
 * them; the others run as ever. Runs by itself against a model server of its own; with a base URL as its argument it asks
 * that server.
 *
 * @module
 */
import OpenAI from "openai";
import * as agl from "../../src/index.ts";
import { openStage } from "../stage.ts";
import { reply } from "./model.ts";
import { solve } from "./team.ts";

const stage = await openStage(reply);
try {
  const options = { baseURL: stage.baseURL, apiKey: "none" };
  const policy = agl.instrument(new OpenAI(options));
  const fixed = agl.instrument(new OpenAI(options), { tokenIds: false });
  const result = await agl.rollout({ input: "6 times 7", mode: "train" }, ({ input }) =>
    solve({ policy, fixed }, String(input)),
  );
  await stage.show(result);
  for (const name of ["planner", "solver", "critic"]) {
    const calls = stage.spans.filter(
      (span) => span.name === "openai.chat.completion" && span.attributes["agent.name"] === name,
    );
    const trained = calls.filter((span) => "response_token_ids" in span.attributes);
    console.log(`${name}: ${calls.length} model calls, ${trained.length} to train on`);
  }
} finally {
  await stage.close();
}
