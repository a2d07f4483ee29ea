/**
 * Time that a test moves by hand, for code that takes its clock and its timers as options.
 *
 * @module
 */
import type { SetTimer } from "../../src/export/timer.ts";

interface Pending {
  at: number;
  order: number;
  fn: () => void;
}

/** A clock and timers. Timers of 0 ms run by themselves, in a macrotask; all others wait for {@link FakeTime.pass}. */
export interface FakeTime {
  now: () => number;
  setTimer: SetTimer;
  /** The real fetch; `pass` waits for its answers, unless {@link FakeTime.hanging} says that none will come. */
  fetch: typeof globalThis.fetch;
  hanging: boolean;
  /** Lets `ms` pass: what is due runs in order, with the I/O of the real world in between. */
  pass(ms: number): Promise<void>;
  /** Times of the timers that wait, from now on. */
  waiting(): number[];
}

/** Time that stands still at `start` (ms since the epoch). */
export function createFakeTime(start = Date.UTC(2026, 0, 1)): FakeTime {
  let time = start;
  let order = 0;
  let pending: Pending[] = [];
  const underWay = new Set<Promise<unknown>>();
  const immediates = new Set<NodeJS.Immediate>();

  /** Lets the real world's pending I/O, the timers of 0 ms and what follows from them happen. */
  async function settle(): Promise<void> {
    for (let quiet = 0; quiet < 4; quiet++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (immediates.size > 0) quiet = 0;
      if (underWay.size > 0 && !self.hanging) {
        await Promise.allSettled(underWay);
        quiet = 0;
      }
    }
  }

  const self: FakeTime = {
    hanging: false,
    fetch: (input, init) => {
      // The answer is whole before anybody sees it, so that its arrival is one event.
      const exchange = globalThis.fetch(input, init).then(async (response) => {
        const body = await response.arrayBuffer();
        return new Response(body, { status: response.status, headers: response.headers });
      });
      const tracked = exchange.catch(() => undefined).finally(() => underWay.delete(tracked));
      underWay.add(tracked);
      return exchange;
    },
    now: () => time,
    setTimer(fn, ms) {
      if (ms <= 0) {
        const handle = setImmediate(() => {
          immediates.delete(handle);
          fn();
        });
        immediates.add(handle);
        return () => {
          immediates.delete(handle);
          clearImmediate(handle);
        };
      }
      const entry = { at: time + ms, order: order++, fn };
      pending.push(entry);
      return () => {
        pending = pending.filter((other) => other !== entry);
      };
    },
    async pass(ms) {
      const end = time + ms;
      await settle();
      for (;;) {
        const next = pending
          .filter(({ at }) => at <= end)
          .sort((a, b) => a.at - b.at || a.order - b.order)[0];
        if (next === undefined) break;
        pending = pending.filter((entry) => entry !== next);
        time = Math.max(time, next.at);
        next.fn();
        await settle();
      }
      time = end;
      await settle();
    },
    waiting: () => pending.map(({ at }) => at - time).sort((a, b) => a - b),
  };
  return self;
}
