/**
 * Reads rollouts and spans from the store as any reader would: over HTTP.
 *
 * @module
 */
import type { AttemptedRollout } from "../../src/protocol/rollout.ts";
import type { Span } from "../../src/protocol/span.ts";

/** A rollout as the store holds it, its spans in the store's order. */
export interface StoredRollout {
  rollout: AttemptedRollout;
  spans: Span[];
}

async function get<T>(url: string): Promise<T> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`GET ${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** Every rollout of the store at `url`. */
export async function readBack(url: string): Promise<StoredRollout[]> {
  const api = `${url}/v1/agl`;
  const { items } = await get<{ items: AttemptedRollout[] }>(`${api}/rollouts`);
  return Promise.all(
    items.map(async (rollout) => {
      const found = await get<{ items: Span[] }>(`${api}/spans?rollout_id=${rollout.rollout_id}`);
      return { rollout, spans: found.items };
    }),
  );
}
