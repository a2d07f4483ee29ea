/**
 * Many calls in many rollouts, half of them streamed, as a program that needs `--expose-gc`: prints the megabytes in
 * use after a tenth of the calls and after all.
 *
 * @module
 */
import { answering, conversation, streaming } from "../call/model.ts";
import { VARIANTS } from "../call/variants.ts";

/** Megabytes of the heap. */
export interface Heap {
  calls: number;
  early: number;
  late: number;
}

const CALLS = 100_000;
const PER_ROLLOUT = 100;
const MESSAGES = conversation(3, 600);
const REQUEST = { model: "qwen2.5-7b-instruct", messages: MESSAGES };

async function heap(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    await new Promise(setImmediate);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed / 1e6;
}

const variant = await VARIANTS.ours(async () => {
  throw new Error("nothing else is loaded here");
});
const whole = variant.client(answering());
const streamed = variant.client(streaming(5));
let early = 0;
for (let calls = 0; calls < CALLS; ) {
  await variant.inside(async () => {
    for (let i = 0; i < PER_ROLLOUT; i += 2) {
      await whole.chat.completions.create(REQUEST);
      for await (const _ of await streamed.chat.completions.create({ ...REQUEST, stream: true }));
    }
  });
  calls += PER_ROLLOUT;
  await variant.drain();
  if (calls === CALLS / 10) early = await heap();
}
process.stdout.write(`${JSON.stringify({ calls: CALLS, early, late: await heap() } satisfies Heap)}\n`);
process.exit(0);
