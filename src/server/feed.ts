/**
 * The store's events with positions, the last ones kept, so that a reader that was away misses nothing unnoticed.
 *
 * @module
 */
import type { LocalStore, StoreEvent } from "../store/interface.ts";

/** One event and its position. */
export interface FeedItem {
  /** `<run>-<number>`: positions of another run of the server mean nothing to this one. */
  id: string;
  event: StoreEvent;
}

/** A reader's place in the feed. */
export interface FeedSubscription {
  /** The position at the time of subscribing. */
  position: string;
  /** What happened after the given position; null when that is no longer known. */
  missed: FeedItem[] | null;
  end(): void;
}

/** A live feed of one store. */
export interface Feed {
  /** Calls `listener` with each event from now on. */
  subscribe(listener: (item: FeedItem) => void, after?: string): FeedSubscription;
}

/** A feed that keeps the last `history` events, until `signal` fires. `run` tells runs of the server apart. */
export function createFeed(
  store: Pick<LocalStore, "subscribe">,
  options: { history: number; run: string; signal?: AbortSignal | undefined },
): Feed {
  const { history, run } = options;
  const kept: FeedItem[] = [];
  const listeners = new Set<(item: FeedItem) => void>();
  let count = 0;

  let stop: (() => void) | undefined;

  function take(event: StoreEvent): void {
    const item = { id: `${run}-${++count}`, event };
    kept.push(item);
    if (kept.length > 2 * history) kept.splice(0, kept.length - history);
    for (const listener of listeners) listener(item);
  }

  function missedSince(after: string | undefined): FeedItem[] | null {
    if (after === undefined) return [];
    const cut = after.lastIndexOf("-");
    const number = Number(after.slice(cut + 1));
    if (after.slice(0, cut) !== run || !Number.isInteger(number) || number > count) return null;
    const missing = count - number;
    return missing > kept.length ? null : kept.slice(kept.length - missing);
  }

  options.signal?.addEventListener("abort", () => stop?.(), { once: true });

  return {
    subscribe(listener, after) {
      // Before the first reader nobody has a position to come back to, and the store need not build events.
      stop ??= store.subscribe(take);
      listeners.add(listener);
      return {
        position: `${run}-${count}`,
        missed: missedSince(after),
        end: () => void listeners.delete(listener),
      };
    },
  };
}
