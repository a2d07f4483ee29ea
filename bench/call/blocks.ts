/**
 * The side of a measured program in {@link takeTurns}: warms up, then runs a block each time it is told to.
 *
 * @module
 */
import { on } from "node:events";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { Variant } from "./variants.ts";

/** What a block took, in microseconds per unit. */
export interface Round {
  /** Time in which the calls ran. */
  wall: number;
  /** Processor time of the whole process, with shaping, encoding and sending. */
  cpu: number;
}

/** What a program answers at its end. */
export interface Total {
  calls: number;
  /** Spans delivered; undefined where it cannot be told. */
  delivered?: number | undefined;
}

/** What is measured. */
export interface Blocks {
  /** Units of one block. */
  units: number;
  /** Calls of one block. */
  calls: number;
  /** Blocks that are run before any counts. */
  warmup: number;
  /** Runs one block and gives the microseconds that count. */
  block(): Promise<number>;
}

/**
 * What every agent's process has beside promises: timers, immediates, ticks. The engine makes AsyncLocalStorage's hooks
 * fast for the kinds of resources that it has seen, and a process that knew nothing but promises would show them at
 * half the price that they have anywhere else (Node 20).
 */
async function live(): Promise<void> {
  for (let i = 0; i < 20; i++) {
    await setTimeout(0);
    await setImmediate();
    await new Promise<void>((resolve) => process.nextTick(resolve));
    await new Promise<void>((resolve) => queueMicrotask(resolve));
  }
}

/** Serves the process that has forked this one, to its end. */
export async function serveBlocks(
  { units, calls, warmup, block }: Blocks,
  variant: Pick<Variant, "inside" | "drain" | "delivered">,
): Promise<void> {
  let blocks = 0;
  const run = async (): Promise<Round> => {
    await live();
    const before = process.cpuUsage();
    const time = await block();
    await variant.drain();
    const { user, system } = process.cpuUsage(before);
    blocks++;
    return { wall: time / units, cpu: (user + system) / units };
  };
  await variant.inside(async () => {
    for (let i = 0; i < warmup; i++) await run();
    const orders = on(process, "message");
    process.send?.("ready");
    // The blocks run in the context of this loop, and so inside.
    for await (const [order] of orders) {
      if (order !== "block") break;
      process.send?.(await run());
    }
  });
  await variant.drain();
  const total: Total = { calls: blocks * calls, delivered: variant.delivered() };
  process.send?.(total);
  process.disconnect();
}
