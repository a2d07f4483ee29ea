/**
 * A gate that holds a server's answer until the test lets it go on: order without sleeps.
 *
 * @module
 */

/** A gate; each passage waits for one release. */
export interface Gate {
  /** Waits to be let through. Give it to a fault as its `gate`. */
  pass(): Promise<void>;
  /** Lets `count` passages through (1 by default), now or when they come. */
  release(count?: number): void;
  /** Lets all passages through, from now on. */
  open(): void;
  /** Resolves when `count` passages in all have come to the gate (1 by default). */
  arrived(count?: number): Promise<void>;
}

/**
 * A closed gate.
 *
 * @example
 * ```ts
 * import { createGate, serveModel } from "agentlightning/testing";
 * const gate = createGate();
 * const server = await serveModel({ reply: { content: "slowly", fault: { gate: gate.pass } } });
 * gate.release(2); // lets two chunks of a stream through
 * await server.close();
 * ```
 */
export function createGate(): Gate {
  let credit = 0;
  let came = 0;
  const waiting: Array<() => void> = [];
  const watchers: Array<{ count: number; resolve: () => void }> = [];
  const release = (count = 1) => {
    credit += count;
    while (credit > 0) {
      const next = waiting.shift();
      if (next === undefined) return;
      credit--;
      next();
    }
  };
  return {
    pass() {
      came++;
      for (const watcher of watchers) if (came >= watcher.count) watcher.resolve();
      return new Promise((resolve) => {
        waiting.push(resolve);
        release(0);
      });
    },
    release,
    open: () => release(Number.POSITIVE_INFINITY),
    arrived(count = 1) {
      if (came >= count) return Promise.resolve();
      return new Promise((resolve) => watchers.push({ count, resolve }));
    },
  };
}
