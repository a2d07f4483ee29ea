/**
 * One variant of one measurement, as a program: `round.js <variant> <measure> <loader of the wrappers>`. Warms up, then
 * runs a block of calls each time it is told to, so that the variants can take turns.
 *
 * @module
 */
import type OpenAI from "openai";
import { type Blocks, serveBlocks } from "./blocks.ts";
import { answering, conversation, type Message, streaming } from "./model.ts";
import { VARIANTS, type VariantName } from "./variants.ts";
import type { Load } from "./wrappers.ts";

interface Measure extends Omit<Blocks, "block"> {
  fetch: typeof fetch;
  /** Runs one block and gives the microseconds that count. */
  block(client: OpenAI): Promise<number>;
}

const SHORT = conversation(3, 600);
const LONG = conversation(200, 1_000);
const PARAMETERS = { model: "qwen2.5-7b-instruct", temperature: 0.7, max_tokens: 512 };

const clock = () => performance.now() * 1_000;
const call = (client: OpenAI, messages: Message[]) =>
  client.chat.completions.create({ ...PARAMETERS, messages });
const stream = (client: OpenAI) =>
  client.chat.completions.create({
    ...PARAMETERS,
    messages: SHORT,
    stream: true,
    stream_options: { include_usage: true },
  });

async function inSequence(client: OpenAI, messages: Message[], calls: number): Promise<number> {
  const start = clock();
  for (let i = 0; i < calls; i++) await call(client, messages);
  return clock() - start;
}

const CHUNKS = 400;

const MEASURES: Record<string, Measure> = {
  call: {
    fetch: answering(),
    units: 200,
    calls: 200,
    warmup: 50,
    block: (client) => inSequence(client, SHORT, 200),
  },
  atOnce: {
    fetch: answering(),
    units: 192,
    calls: 192,
    warmup: 50,
    async block(client) {
      const start = clock();
      for (let i = 0; i < 3; i++) {
        await Promise.all(Array.from({ length: 64 }, () => call(client, SHORT)));
      }
      return clock() - start;
    },
  },
  long: {
    fetch: answering(),
    units: 20,
    calls: 20,
    warmup: 40,
    block: (client) => inSequence(client, LONG, 20),
  },
  chunk: {
    fetch: streaming(CHUNKS),
    units: CHUNKS * 5,
    calls: 5,
    warmup: 30,
    async block(client) {
      let time = 0;
      for (let i = 0; i < 5; i++) {
        let start = 0;
        // From the first chunk on: what a stream costs once is not a cost of its chunks.
        for await (const _ of await stream(client)) if (start === 0) start = clock();
        time += clock() - start;
      }
      return time;
    },
  },
  firstChunk: {
    fetch: streaming(20),
    units: 100,
    calls: 100,
    warmup: 60,
    async block(client) {
      let time = 0;
      for (let i = 0; i < 100; i++) {
        const start = clock();
        let first = true;
        for await (const _ of await stream(client)) {
          if (first) time += clock() - start;
          first = false;
        }
      }
      return time;
    },
  },
};

const [, , name = "bare", kind = "call", loader = ""] = process.argv;
const load: Load = async <T>(module: string) =>
  ((await import(loader)) as { load(name: string): Promise<T> }).load(module);
const measure = MEASURES[kind];
if (measure === undefined) throw new Error(`no measure is named ${kind}`);
const variant = await VARIANTS[name as VariantName](load);
const client = variant.client(measure.fetch);
await serveBlocks({ ...measure, block: () => measure.block(client) }, variant);
