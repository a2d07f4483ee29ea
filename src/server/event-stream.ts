/**
 * The live feed as server-sent events.
 *
 * @module
 */
import type { Parsed } from "../protocol/schemas.ts";
import type { StoreEvent } from "../store/interface.ts";
import type { Feed, FeedItem } from "./feed.ts";

/** Options of {@link eventStream}. */
export interface EventStreamOptions {
  query: Parsed<"EventsQuery">;
  /** The `Last-Event-ID` of a reader that comes back. */
  lastEventId?: string | undefined;
  /** Milliseconds between comments that keep the connection open. */
  keepAliveMs: number;
  /** Bytes that the reader may lag behind. */
  maxLagBytes: number;
  /** Ends the stream. */
  signal: AbortSignal;
}

/**
 * A stream of `event: <type>`, `data: <the event as JSON>`. `event: reset` says that events were missed: read the
 * store anew. A reader that lags too far is cut off and may come back with its `Last-Event-ID`.
 */
export function eventStream(feed: Feed, options: EventStreamOptions): Response {
  const { query, signal } = options;
  const encoder = new TextEncoder();
  let end = () => {};
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const send = (text: string) => {
          const bytes = encoder.encode(text);
          if ((controller.desiredSize ?? 0) < -options.maxLagBytes) end();
          else controller.enqueue(bytes);
        };
        const sendItem = (item: FeedItem) => {
          if (isWanted(item.event, query)) {
            send(`id: ${item.id}\nevent: ${item.event.type}\ndata: ${JSON.stringify(item.event)}\n\n`);
          }
        };
        const subscription = feed.subscribe(sendItem, options.lastEventId);
        const timer = setInterval(() => send(": keep-alive\n\n"), options.keepAliveMs);
        let open = true;
        end = () => {
          if (!open) return;
          open = false;
          clearInterval(timer);
          subscription.end();
          signal.removeEventListener("abort", end);
          controller.close();
        };
        signal.addEventListener("abort", end);
        if (signal.aborted) return end();
        // A position without data moves the reader's Last-Event-ID and shows it nothing.
        if (options.lastEventId === undefined) send(`id: ${subscription.position}\n\n`);
        if (subscription.missed === null) send(`id: ${subscription.position}\nevent: reset\ndata: {}\n\n`);
        for (const item of subscription.missed ?? []) sendItem(item);
      },
      cancel() {
        end();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  );
  return new Response(body, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
  });
}

function isWanted(event: StoreEvent, query: Parsed<"EventsQuery">): boolean {
  if (query.types !== undefined && !query.types.includes(event.type)) return false;
  if (query.rollout_id === undefined) return true;
  const rolloutId = rolloutIdOf(event);
  return rolloutId !== undefined && query.rollout_id.includes(rolloutId);
}

function rolloutIdOf(event: StoreEvent): string | undefined {
  if (event.type === "rollout") return event.rollout.rollout_id;
  if (event.type === "attempt") return event.attempt.rollout_id;
  return event.type === "spans" ? event.rollout_id : undefined;
}
