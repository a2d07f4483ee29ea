/**
 * Tells listeners what changed, after it has lasted.
 *
 * @module
 */
import type { StoreEvent } from "./interface.ts";

/** A feed of changes. */
export interface Feed {
  /** Whether anyone listens; an event need not be built when nobody does. */
  readonly active: boolean;
  subscribe(listener: (event: StoreEvent) => void): () => void;
  publish(event: StoreEvent): void;
  close(): void;
}

/** A feed; a listener that throws harms neither the store nor the other listeners. */
export function createFeed(): Feed {
  const listeners = new Set<{ call: (event: StoreEvent) => void }>();
  return {
    get active() {
      return listeners.size > 0;
    },
    subscribe(listener) {
      // An entry of its own, so that a function subscribed twice is called twice and ended one by one.
      const entry = { call: listener };
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    publish(event) {
      for (const entry of [...listeners]) {
        try {
          entry.call(event);
        } catch (error) {
          // Surfaces as an uncaught error of the listener's author, outside the store's call.
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    },
    close: () => listeners.clear(),
  };
}
