/**
 * The agent of the app.
 *
 * @module
 */
import OpenAI from "openai";
import * as agl from "../../src/index.ts";

// Made with the first request: the address of the model is not known when the app is built.
let openai: OpenAI | undefined;

/** Asks the model, and says how good the answer was. */
export async function solve(problem: string): Promise<string> {
  openai ??= agl.instrument(new OpenAI());
  const { choices } = await openai.chat.completions.create({
    model: "toy",
    messages: [{ role: "user", content: problem }],
  });
  const answer = choices[0]?.message.content ?? "";
  agl.emitReward(answer === "42" ? 1 : 0);
  return answer;
}
