/**
 * One variant of one framework's call, as a program: `round.js <variant> <measure>`.
 *
 * @module
 */
import { serveBlocks } from "../call/blocks.ts";
import { VARIANTS } from "../call/variants.ts";
import { MEASURES } from "./measures.ts";

/** Calls of a block. */
const CALLS = 20;

const [, , name = "bare", kind = ""] = process.argv;
const open = MEASURES[kind];
if (open === undefined) throw new Error(`no measure is named ${kind}`);
const recorded = name !== "bare";
const variant = await VARIANTS[recorded ? "ours" : "bare"](() => Promise.reject(new Error("not compared")));
const call = await open(recorded);
await serveBlocks(
  {
    units: CALLS,
    calls: CALLS,
    warmup: 15,
    async block() {
      const start = performance.now();
      for (let i = 0; i < CALLS; i++) await call();
      return (performance.now() - start) * 1_000;
    },
  },
  variant,
);
