/**
 * The bounded queue of one destination: a lane for each attempt, in order, with at most one batch of a lane under way.
 * Pure: no clock, no timer, no I/O; what is in it is the caller's.
 *
 * A lane's items are, in order: the batch under way, `front` (read back from the spool), what is on disk, `back`.
 *
 * @module
 */

/** An item with its place and its size. */
export interface QueueItem<T> {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly bytes: number;
  readonly value: T;
}

/** Items of one attempt that are sent together. */
export interface Batch<T> {
  readonly lane: Lane<T>;
  readonly items: readonly QueueItem<T>[];
  /** Whether it was taken from `front`, where what came back from disk stays until it has settled. */
  readonly fromFront: boolean;
}

/** How much one batch may hold. A single item that is larger is sent alone. */
export interface BatchLimits {
  maxItems: number;
  maxBytes: number;
}

/** The items of one attempt. Only the queue writes to it, but for the fields of the sender. */
export interface Lane<T> {
  readonly key: string;
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly front: QueueItem<T>[];
  readonly back: QueueItem<T>[];
  backBytes: number;
  /** Items at the head of `back` that are to be sent even if they do not fill a batch. */
  due: number;
  onDisk: number;
  underWay: Batch<T> | undefined;
  /** Most items that the next batches may hold, after a refused batch was split. */
  readonly parts: number[];
  /** Items taken in, ever. */
  added: number;
  /** Items of those that were sent or given up, ever. They settle in order. */
  settled: number;
  /** Sender's: not to be sent before this time. */
  notBefore: number;
  /** Sender's: failures in a row that may pass, and when the first of them was. */
  failures: number;
  failingSince: number;
  /** Sender's: when the request failed first whose parts are sent now. */
  suspectSince: number;
}

/** Bounds of a queue. */
export interface QueueBounds {
  maxBytes: number;
  maxItems: number;
}

/** A bounded queue by attempt. */
export interface Queue<T> {
  /** Bytes in memory, with those under way. */
  readonly bytes: number;
  /** Lanes that hold anything. */
  readonly lanes: ReadonlyMap<string, Lane<T>>;
  /** Takes an item in, or gives false where it does not fit. An item larger than the whole bound never fits. */
  add(item: QueueItem<T>): Lane<T> | undefined;
  /** Marks what waits now as due, in every lane or in one rollout's. */
  makeDue(rolloutId?: string): void;
  /** The next batch that may be sent at time `now`, or undefined. Lanes take turns. */
  take(now: number, limits: BatchLimits): Batch<T> | undefined;
  /** Earliest `notBefore` after `now` of a lane that has something to send. */
  nextTime(now: number, limits: BatchLimits): number | undefined;
  /** The batch has arrived, or has been given up: its items leave the queue. */
  settle(batch: Batch<T>): void;
  /** The batch has not arrived: its items are first in line again. */
  putBack(batch: Batch<T>): void;
  /** The batch was refused as a whole: it is sent again in two halves. Needs two items or more. */
  split(batch: Batch<T>): void;
  /**
   * Moves the head of a lane's `back` to disk: at most `maxBytes`, but at least one item. Nothing changes, and the
   * answer is 0, where there is no item or `write` gives false. Gives the number of items moved.
   */
  spill(lane: Lane<T>, maxBytes: number, write: (items: readonly QueueItem<T>[]) => boolean): number;
  /** An item is on disk that never was in memory: an earlier process's, or one that did not fit. */
  adopt(rolloutId: string, attemptId: string): void;
  /** An item came back from disk. */
  load(item: QueueItem<T>): void;
  /** An item on disk turned out to be unreadable. Gives its lane, if there was such an item. */
  lose(rolloutId: string, attemptId: string): Lane<T> | undefined;
}

/** The name of an attempt's lane. Ids may hold any character, so the length of the first is part of it. */
export function laneKey(rolloutId: string, attemptId: string): string {
  return `${rolloutId.length}:${rolloutId}/${attemptId}`;
}

/** How many items from the head on fit, and their bytes; the first one always does. */
function measure<T>(items: readonly QueueItem<T>[], maxItems: number, maxBytes: number) {
  let count = 0;
  let bytes = 0;
  for (const item of items) {
    if (count > 0 && (count >= maxItems || bytes + item.bytes > maxBytes)) break;
    count += 1;
    bytes += item.bytes;
  }
  return { count, bytes };
}

class AttemptQueue<T> implements Queue<T> {
  readonly lanes = new Map<string, Lane<T>>();
  bytes = 0;
  #items = 0;
  /** The lane that was asked for last. */
  #last: Lane<T> | undefined;
  readonly #bounds: QueueBounds;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  #lane(rolloutId: string, attemptId: string): Lane<T> {
    // Spans come in rows of one attempt, and putting its name together costs more than the rest of an addition.
    const last = this.#last;
    if (last?.rolloutId === rolloutId && last.attemptId === attemptId) return last;
    const key = laneKey(rolloutId, attemptId);
    let lane = this.lanes.get(key);
    if (lane === undefined) {
      lane = {
        key,
        rolloutId,
        attemptId,
        front: [],
        back: [],
        backBytes: 0,
        due: 0,
        onDisk: 0,
        underWay: undefined,
        parts: [],
        added: 0,
        settled: 0,
        notBefore: 0,
        failures: 0,
        failingSince: 0,
        suspectSince: 0,
      };
      this.lanes.set(key, lane);
    }
    this.#last = lane;
    return lane;
  }

  #count(items: readonly QueueItem<T>[], sign: 1 | -1): void {
    this.#items += sign * items.length;
    for (const item of items) this.bytes += sign * item.bytes;
  }

  #dropIfEmpty(lane: Lane<T>): void {
    if (lane.settled < lane.added) return;
    this.lanes.delete(lane.key);
    if (this.#last === lane) this.#last = undefined;
  }

  add(item: QueueItem<T>): Lane<T> | undefined {
    if (this.bytes + item.bytes > this.#bounds.maxBytes || this.#items >= this.#bounds.maxItems)
      return undefined;
    const lane = this.#lane(item.rolloutId, item.attemptId);
    this.#count([item], 1);
    lane.back.push(item);
    lane.backBytes += item.bytes;
    lane.added += 1;
    return lane;
  }

  makeDue(rolloutId?: string): void {
    for (const lane of this.lanes.values()) {
      if (rolloutId === undefined || lane.rolloutId === rolloutId) lane.due = lane.back.length;
    }
  }

  /** The part of the lane that can be sent next, or undefined where it must wait. */
  #source(lane: Lane<T>, limits: BatchLimits): QueueItem<T>[] | undefined {
    if (lane.underWay !== undefined) return undefined;
    if (lane.front.length > 0) return lane.front;
    if (lane.onDisk > 0) return undefined;
    const full = lane.back.length >= limits.maxItems || lane.backBytes >= limits.maxBytes;
    return lane.back.length > 0 && (lane.due > 0 || full) ? lane.back : undefined;
  }

  take(now: number, limits: BatchLimits): Batch<T> | undefined {
    for (const lane of this.lanes.values()) {
      if (lane.notBefore > now) continue;
      const source = this.#source(lane, limits);
      if (source === undefined) continue;
      const most = Math.min(limits.maxItems, lane.parts[0] ?? limits.maxItems);
      const { count, bytes } = measure(source, most, limits.maxBytes);
      const batch: Batch<T> = { lane, items: source.splice(0, count), fromFront: source === lane.front };
      if (source === lane.back) {
        lane.backBytes -= bytes;
        lane.due = Math.max(0, lane.due - count);
      }
      lane.underWay = batch;
      // To the end of the line.
      this.lanes.delete(lane.key);
      this.lanes.set(lane.key, lane);
      return batch;
    }
    return undefined;
  }

  nextTime(now: number, limits: BatchLimits): number | undefined {
    let next: number | undefined;
    for (const lane of this.lanes.values()) {
      if (lane.notBefore <= now || this.#source(lane, limits) === undefined) continue;
      next = Math.min(next ?? lane.notBefore, lane.notBefore);
    }
    return next;
  }

  settle(batch: Batch<T>): void {
    const { lane, items } = batch;
    lane.underWay = undefined;
    lane.settled += items.length;
    this.#count(items, -1);
    let left = items.length;
    while (left > 0 && lane.parts.length > 0) {
      const part = lane.parts[0] as number;
      if (part > left) lane.parts[0] = part - left;
      else lane.parts.shift();
      left -= Math.min(part, left);
    }
    this.#dropIfEmpty(lane);
  }

  putBack(batch: Batch<T>): void {
    const { lane, items } = batch;
    lane.underWay = undefined;
    // What is on disk comes after the batch, so the batch cannot go behind it into `back`.
    if (batch.fromFront || lane.front.length > 0 || lane.onDisk > 0) {
      lane.front.unshift(...items);
      return;
    }
    lane.back.unshift(...items);
    lane.due += items.length;
    for (const item of items) lane.backBytes += item.bytes;
  }

  split(batch: Batch<T>): void {
    const { lane, items } = batch;
    const half = Math.ceil(items.length / 2);
    const rest = (lane.parts.shift() ?? items.length) - items.length;
    if (rest > 0) lane.parts.unshift(rest);
    lane.parts.unshift(half, items.length - half);
    this.putBack(batch);
  }

  spill(lane: Lane<T>, maxBytes: number, write: (items: readonly QueueItem<T>[]) => boolean): number {
    const { count, bytes } = measure(lane.back, Number.POSITIVE_INFINITY, maxBytes);
    if (count === 0 || !write(lane.back.slice(0, count))) return 0;
    this.#count(lane.back.splice(0, count), -1);
    lane.backBytes -= bytes;
    lane.due = Math.max(0, lane.due - count);
    lane.onDisk += count;
    return count;
  }

  adopt(rolloutId: string, attemptId: string): void {
    const lane = this.#lane(rolloutId, attemptId);
    lane.added += 1;
    lane.onDisk += 1;
  }

  load(item: QueueItem<T>): void {
    const lane = this.#lane(item.rolloutId, item.attemptId);
    lane.onDisk -= 1;
    lane.front.push(item);
    this.#count([item], 1);
  }

  lose(rolloutId: string, attemptId: string): Lane<T> | undefined {
    const lane = this.lanes.get(laneKey(rolloutId, attemptId));
    if (lane === undefined || lane.onDisk === 0) return undefined;
    lane.onDisk -= 1;
    lane.settled += 1;
    this.#dropIfEmpty(lane);
    return lane;
  }
}

/** An empty queue. */
export function createQueue<T>(bounds: QueueBounds): Queue<T> {
  return new AttemptQueue<T>(bounds);
}
