/**
 * A planner, a solver and a critic as plain functions, each named with `agl.agent`. The solver's model is the one that is
 * trained; the two others keep theirs.
 *
 * @module
 */
import type OpenAI from "openai";
import * as agl from "../../src/index.ts";

/** The clients of the team. */
export interface Models {
  /** Serves the model in training, and tells token ids. */
  policy: OpenAI;
  /** Serves the models of the others. */
  fixed: OpenAI;
}

/** The critic sends the solver back no more often than this. */
const MAX_ROUNDS = 3;

async function ask(client: OpenAI, model: string, role: string, text: string): Promise<string> {
  const { choices } = await client.chat.completions.create({
    model,
    messages: [
      { role: "system", content: role },
      { role: "user", content: text },
    ],
  });
  return choices[0]?.message.content ?? "";
}

/** Works on a problem until the critic agrees. */
export async function solve({ policy, fixed }: Models, problem: string): Promise<string> {
  const plan = await agl.agent("planner", () => ask(fixed, "large", "You plan.", problem));
  let task = plan;
  let answer = "";
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await agl.agent("solver", () => ask(policy, "policy", "You solve.", task));
    const remark = await agl.agent("critic", () =>
      ask(fixed, "large", "You judge.", `${problem} = ${found}`),
    );
    answer = found;
    // Belongs to the nearest call before it among those that are trained on: the solver's.
    agl.emitReward(remark === "right" ? 1 : 0);
    if (remark === "right") break;
    task = `${plan} (${remark})`;
  }
  return answer;
}
