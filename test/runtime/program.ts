/**
 * A program that a controller starts: the whole process is one rollout, by its environment.
 *
 * @module
 */
import * as agl from "../../src/index.ts";

const work = agl.tool("work", async (n: number) => n + 1);
await agl.agent("solver", () => work(1));
const joined = await agl.rollout({ input: "ignored" }, ({ rolloutId }) => {
  agl.emitReward(0.5);
  return rolloutId;
});
console.log(JSON.stringify({ value: joined.value, stored: joined.stored, reward: joined.reward }));
// No flush and no shutdown: the end of the process delivers.
