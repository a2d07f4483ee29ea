/**
 * Waiting for rollouts over HTTP, for as long as it takes.
 *
 * The body asks for an answer at once, and the header `Prefer: wait=N` (RFC 7240) for one when all are finished. Our
 * server heeds the header and holds the request. The Python server does not know it and answers at once, which is what
 * it is good at: asked to wait, it blocks one of its few threads for each id.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import type { Page, Rollout } from "../protocol/rollout.ts";
import type { Transport } from "./request.ts";

/** Longest time that one request is held: shorter than the idle limits of common proxies. */
const SLICE_MS = 20_000;
/** Polls of a server that does not hold requests start at this distance, */
const FIRST_POLL_MS = 50;
/** and grow by half up to this one. */
const LAST_POLL_MS = 2_000;

/** {@link LightningStore.waitForRollouts}. */
export async function waitForRollouts(
  transport: Transport,
  rolloutIds: readonly string[],
  options: { timeoutSeconds?: number | null; signal?: AbortSignal | undefined },
): Promise<Rollout[]> {
  const { signal } = options;
  const timeoutSeconds = options.timeoutSeconds ?? null;
  if (timeoutSeconds !== null && Number.isNaN(timeoutSeconds)) {
    throw new AglError("invalid_argument", "timeoutSeconds must be a number of seconds, or null; it is NaN.");
  }
  const deadline = transport.now() + (timeoutSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
  const sliceMs = Math.min(SLICE_MS, transport.timeoutMs * 0.6);
  const finished = new Map<string, Rollout>();
  let pending = [...new Set(rolloutIds)];
  let unknownDropped = false;
  let pollMs = FIRST_POLL_MS;

  const inOrder = () => rolloutIds.flatMap((id) => finished.get(id) ?? []);

  while (pending.length > 0) {
    const sent = transport.now();
    const holdSeconds = Math.max(0, Math.floor(Math.min(sliceMs, deadline - sent) / 1_000));
    const rollouts = (await transport.send({
      method: "POST",
      path: "/waits/rollouts",
      body: { rollout_ids: pending, timeout: 0 },
      ...(holdSeconds > 0 ? { headers: { prefer: `wait=${holdSeconds}` } } : {}),
      repeatable: true,
      budgetMs: deadline - sent + transport.timeoutMs,
      signal,
    })) as Rollout[];
    for (const rollout of rollouts) finished.set(rollout.rollout_id, rollout);
    pending = pending.filter((id) => !finished.has(id));
    const left = deadline - transport.now();
    if (pending.length === 0 || left <= 0) break;
    if (!unknownDropped) {
      unknownDropped = true;
      pending = await knownOf(transport, pending, signal);
      if (pending.length === 0) break;
    }
    const held = transport.now() - sent >= holdSeconds * 1_000;
    if (holdSeconds > 0 && held) continue;
    await transport.sleep(Math.min(left, pollMs), signal);
    pollMs = Math.min(LAST_POLL_MS, pollMs * 1.5);
  }
  return inOrder();
}

/** Those of the ids that the store knows: nobody can wait for the others. */
async function knownOf(
  transport: Transport,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const page = (await transport.send({
    method: "POST",
    path: "/rollouts/search",
    body: { rollout_id_in: ids },
    repeatable: true,
    signal,
  })) as Page<Rollout>;
  const known = new Set(page.items.map((rollout) => rollout.rollout_id));
  return ids.filter((id) => known.has(id));
}
