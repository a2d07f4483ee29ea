/**
 * Moves spans between the queue in memory and the spool on disk.
 *
 * @module
 */
import type { FinishedSpan } from "../trace/finished-span.ts";
import { encodeSpans } from "./encode.ts";
import { type Lane, laneKey, type Queue, type QueueItem } from "./queue.ts";
import type { Spool, SpooledSpan } from "./spool.ts";
import type { SpoolRecord } from "./spool-format.ts";

/** A span in the queue: as it ended, or as it came back from disk. */
export type Queued = FinishedSpan | SpooledSpan;

/** The disk behind a queue. */
export interface Overflow {
  /** Takes in an item that does not fit into memory: makes room for it, or puts it on disk itself. False where the disk is full. */
  add(item: QueueItem<Queued>): boolean;
  /** Moves some of what waits to disk; false when there was nothing to move. */
  spillSome(): boolean;
  /** Reads more back, where memory allows it; false when there was nothing to read. */
  loadMore(): boolean;
  /** A span has settled. */
  settled(item: QueueItem<Queued>): void;
  /** Takes over what dead processes left. */
  adopt(): void;
  /** Writes all that is in memory only to disk, at once. Gives the number of spans that could not be written. */
  rescue(): number;
  close(): void;
}

/** Options of {@link createOverflow}. */
export interface OverflowOptions {
  queue: Queue<Queued>;
  spool: Spool;
  /** Most bytes of memory for spans that were read back; one segment may go over it. */
  loadBytes: number;
  /** Told of spans on disk that cannot be read any more. */
  onLost: (lane: Lane<Queued>, rolloutId: string) => void;
}

/** Most that is encoded in one go, so small enough not to be felt. */
const MAX_SLICE_BYTES = 256 * 1024;
/** What an item takes beside its encoded body. */
const ITEM_BYTES = 200;

function isSpooled(value: Queued): value is SpooledSpan {
  return "segment" in value;
}

function toRecord(item: QueueItem<Queued>): SpoolRecord {
  const body = isSpooled(item.value) ? item.value.body : encodeSpans([item.value]);
  return { rolloutId: item.rolloutId, attemptId: item.attemptId, body };
}

/** The encoded request of queued spans, which may be partly encoded already. */
export function encodeQueued(items: readonly QueueItem<Queued>[]): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let run: FinishedSpan[] = [];
  const endRun = () => {
    if (run.length > 0) parts.push(encodeSpans(run));
    run = [];
  };
  for (const { value } of items) {
    if (!isSpooled(value)) {
      run.push(value);
      continue;
    }
    endRun();
    parts.push(value.body);
  }
  endRun();
  return parts;
}

/** Connects a queue and a spool. */
export function createOverflow(options: OverflowOptions): Overflow {
  const { queue, spool } = options;
  const slice = Math.min(MAX_SLICE_BYTES, options.loadBytes);
  let loaded = 0;

  /** Spans that cannot be encoded stay where they are: sending finds out which one it is. */
  const tryRecords = (items: readonly QueueItem<Queued>[]): SpoolRecord[] | undefined => {
    try {
      return items.map(toRecord);
    } catch {
      return undefined;
    }
  };
  const write = (items: readonly QueueItem<Queued>[]): boolean => {
    const records = tryRecords(items);
    return records !== undefined && spool.write(records);
  };

  /** Moves to disk what can be moved, until the memory holds no more than `bytes`. */
  const spillTo = (bytes: number): void => {
    for (const lane of queue.lanes.values()) {
      while (queue.bytes > bytes && queue.spill(lane, slice, write) > 0);
      if (queue.bytes <= bytes) break;
    }
  };

  return {
    add(item) {
      spillTo(queue.bytes - Math.max(item.bytes, slice));
      if (queue.add(item) !== undefined) return true;
      // What was read back may fill more than the memory: then nothing may stay there that can be elsewhere.
      spillTo(0);
      if (queue.add(item) !== undefined) return true;
      // All that is left in memory is under way, or could not be written; the item must not overtake any of its own.
      const lane = queue.lanes.get(laneKey(item.rolloutId, item.attemptId));
      if ((lane !== undefined && lane.back.length > 0) || !write([item])) return false;
      queue.adopt(item.rolloutId, item.attemptId);
      return true;
    },
    spillSome() {
      for (const lane of queue.lanes.values()) {
        // What is under way may come back and would have to go in front of what is on disk; its turn comes later.
        if (lane.underWay === undefined && queue.spill(lane, slice, write) > 0) return true;
      }
      return false;
    },
    loadMore() {
      if (!spool.hasUnread || loaded >= options.loadBytes) return false;
      const { records, lost } = spool.read();
      for (const record of records) {
        const { rolloutId, attemptId } = record;
        const bytes = record.body.length + ITEM_BYTES;
        loaded += bytes;
        queue.load({ rolloutId, attemptId, bytes, value: record });
      }
      for (const { rolloutId, attemptId, count } of lost) {
        for (let i = 0; i < count; i++) {
          const lane = queue.lose(rolloutId, attemptId);
          if (lane !== undefined) options.onLost(lane, rolloutId);
        }
      }
      return true;
    },
    settled(item) {
      if (!isSpooled(item.value)) return;
      loaded -= item.bytes;
      spool.done(item.value);
    },
    adopt() {
      for (const { rolloutId, attemptId, count } of spool.adopt()) {
        for (let i = 0; i < count; i++) queue.adopt(rolloutId, attemptId);
      }
    },
    rescue() {
      let lost = 0;
      const first: SpoolRecord[] = [];
      const keep = (items: readonly QueueItem<Queued>[], ahead: boolean) => {
        for (const item of items) {
          if (isSpooled(item.value)) continue;
          const record = tryRecords([item])?.[0];
          if (record === undefined) lost += 1;
          else if (ahead) first.push(record);
          else if (!spool.write([record])) lost += 1;
        }
      };
      for (const lane of queue.lanes.values()) {
        const ahead = lane.onDisk > 0 || lane.front.length > 0;
        keep(lane.underWay?.items ?? [], ahead);
        keep(lane.front, true);
        keep(lane.back, false);
      }
      if (first.length > 0 && !spool.writeFirst(first)) lost += first.length;
      return lost;
    },
    close: () => spool.close(),
  };
}
