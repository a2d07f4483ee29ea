/**
 * The way of spans to a LightningStore: at least once, in order within an attempt, never silently lost.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import { say } from "../internal/say.ts";
import { Agl } from "../protocol/semconv.ts";
import { approximateBytes, type FinishedSpan } from "../trace/finished-span.ts";
import { joinRequests } from "./encode.ts";
import type { EndableSink } from "./exit.ts";
import { createFlushWaiters, createLedger, pendingIn } from "./flush-waiters.ts";
import { createGate, type Gate } from "./gate.ts";
import { createOverflow, encodeQueued, type Overflow, type Queued } from "./overflow.ts";
import { type Batch, createQueue, type Lane, type Queue } from "./queue.ts";
import { MIN_DELAY_MS, retryDelay } from "./retry.ts";
import type { FlushReport } from "./sink.ts";
import { openSpool } from "./spool.ts";
import { resolveOptions, type StoreSinkOptions, type StoreSinkSettings } from "./store-options.ts";
import {
  type Busy,
  createTransport,
  type Faulty,
  type Misconfigured,
  messageOf,
  type SendResult,
  type Transport,
} from "./transport.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
/** How often the spool is searched for what dead processes left, and its directory marked as in use. */
const ADOPT_EVERY_MS = 30_000;
/** Failures of a request, at least, before it is split, or its one span given up. */
const LEAST_FAILURES = 5;

class LightningStoreSink implements EndableSink {
  readonly #settings: StoreSinkSettings;
  readonly #limits: { maxItems: number; maxBytes: number };
  readonly #queue: Queue<Queued>;
  readonly #transport: Transport;
  readonly #gate: Gate;
  readonly #overflow: Overflow | undefined;
  readonly #ledger = createLedger();
  readonly #waiters: ReturnType<typeof createFlushWaiters>;
  #underWay = 0;
  #wake: { at: number; cancel: () => void } | undefined;
  /** When spans that do not fill a batch are sent. */
  #tickAt: number | undefined;
  #adoptAt = 0;
  #acceptedAt = Number.NEGATIVE_INFINITY;
  #dropped = 0;
  #dropping = false;
  /** What was said about the destination since it answered last. */
  #said: "busy" | "misconfigured" | undefined;
  #closing: Promise<FlushReport> | undefined;
  #closed = false;
  /** True after an interruption, which a request that starts just then must not undo. */
  #held = false;

  constructor(options: StoreSinkOptions) {
    const settings = resolveOptions(options);
    this.#settings = settings;
    this.#limits = { maxItems: settings.maxBatchSpans, maxBytes: settings.maxBatchBytes };
    this.#transport = createTransport({ ...settings, key: settings.key });
    this.#gate = createGate(settings, settings.random);
    this.#waiters = createFlushWaiters(settings.setTimer);
    const { spoolDirectory, queueBytes } = settings;
    // What is read back from disk has its own part of the memory: it must move even when the rest is full.
    const loadBytes = Math.min(settings.maxBatchBytes, Math.floor(queueBytes / 4));
    this.#queue = createQueue<Queued>({
      maxBytes: spoolDirectory === undefined ? queueBytes : queueBytes - loadBytes,
      maxItems: settings.queueSpans,
    });
    if (spoolDirectory === undefined) return;
    const spool = openSpool({
      directory: spoolDirectory,
      destination: settings.url,
      maxBytes: settings.spoolBytes,
      segmentBytes: loadBytes,
      now: settings.now,
      onFault: (message, cause) =>
        this.#report(new AglError("internal", `${message}: ${messageOf(cause)}`, { cause })),
    });
    this.#overflow = createOverflow({
      queue: this.#queue,
      spool,
      loadBytes,
      onLost: (lane, rolloutId) => {
        this.#fail(rolloutId, 1, "a span in the spool cannot be read any more");
        this.#waiters.settled(lane);
      },
    });
    this.#adopt();
  }

  get pending(): number {
    return pendingIn(this.#queue.lanes.values());
  }

  add(span: FinishedSpan): void {
    const rolloutId = span.attributes[Agl.RolloutId];
    const attemptId = span.attributes[Agl.AttemptId];
    // A store cannot place a span without them.
    if (typeof rolloutId !== "string" || typeof attemptId !== "string") return;
    const item = { rolloutId, attemptId, bytes: approximateBytes(span), value: span };
    if (this.#closed || this.#closing !== undefined) {
      this.#drop(rolloutId, "the exporter was shut down");
      return;
    }
    const lane = this.#queue.add(item);
    if (lane === undefined && !(this.#settings.onFull === "spill" && this.#overflow?.add(item))) {
      const waiting = `${this.#queue.bytes} bytes wait`;
      this.#drop(rolloutId, `the queue is full: ${waiting}; raise queueBytes or give a spoolDirectory`);
      return;
    }
    this.#held = false;
    this.#tickAt ??= this.#settings.now() + this.#settings.flushIntervalMs;
    const full =
      lane === undefined ||
      lane.backBytes >= this.#limits.maxBytes ||
      lane.back.length >= this.#limits.maxItems;
    this.#schedule(full ? 0 : this.#tickAt);
  }

  async flush(options: { timeoutMs?: number; rolloutId?: string } = {}): Promise<FlushReport> {
    const { rolloutId, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    if (!this.#closed) {
      this.#held = false;
      this.#queue.makeDue(rolloutId);
      this.#gate.hurry(this.#settings.now());
      this.#schedule(0);
      await this.#waiters.wait(this.#lanes(rolloutId), timeoutMs);
    }
    return { ...this.#ledger.take(rolloutId), pending: pendingIn(this.#lanes(rolloutId)) };
  }

  shutdown(options: { timeoutMs?: number } = {}): Promise<FlushReport> {
    this.#closing ??= this.flush(options).then((report) => {
      const lost = this.rescue();
      this.#overflow?.close();
      return { ...report, pending: report.pending - lost, failed: report.failed + lost };
    });
    return this.#closing;
  }

  interrupt(): void {
    this.#held = true;
    this.#transport.abort();
  }

  /** Nothing is sent after it: the process ends, or the sink was shut down. */
  rescue(): number {
    if (this.#closed) return 0;
    this.#closed = true;
    this.#wake?.cancel();
    this.#transport.abort();
    const lost = this.#overflow === undefined ? this.pending : this.#overflow.rescue();
    this.#waiters.release();
    if (lost > 0) {
      const remedy = this.#overflow === undefined ? "; a spoolDirectory would have kept them" : "";
      this.#warn("end", `${lost} spans were not delivered to ${this.#settings.url} before the end${remedy}`);
    }
    return lost;
  }

  #lanes(rolloutId: string | undefined): Lane<Queued>[] {
    const lanes = [...this.#queue.lanes.values()];
    return rolloutId === undefined ? lanes : lanes.filter((lane) => lane.rolloutId === rolloutId);
  }

  /** Wakes up at time `at`, or earlier where that was planned. */
  #schedule(at: number): void {
    if (this.#closed || (this.#wake !== undefined && this.#wake.at <= at)) return;
    this.#wake?.cancel();
    const cancel = this.#settings.setTimer(
      () => {
        this.#wake = undefined;
        this.#work();
      },
      Math.max(0, at - this.#settings.now()),
    );
    this.#wake = { at, cancel };
  }

  /** One step: at most one request is encoded in it, so that the program's own work is not held up. */
  #work(): void {
    if (this.#closed) return;
    const now = this.#settings.now();
    if (this.#overflow !== undefined && this.#adoptAt <= now) this.#adopt();
    if (this.#tickAt !== undefined && this.#tickAt <= now) {
      this.#tickAt = undefined;
      this.#queue.makeDue();
    }
    // While the store is away, what waits is put where the end of the process cannot reach it.
    if (this.#sendOne(now) || (this.#gate.away && this.#overflow?.spillSome())) this.#schedule(0);
    else this.#plan(now);
  }

  #sendOne(now: number): boolean {
    if (this.#underWay >= (this.#gate.away ? 1 : this.#settings.maxConcurrency)) return false;
    if (this.#held || this.#gate.notBefore > now) return false;
    let batch = this.#queue.take(now, this.#limits);
    while (batch === undefined && this.#overflow?.loadMore()) batch = this.#queue.take(now, this.#limits);
    if (batch === undefined) return false;
    void this.#send(batch);
    return true;
  }

  #plan(now: number): void {
    if (this.#tickAt !== undefined) this.#schedule(this.#tickAt);
    if (this.#overflow !== undefined) this.#schedule(this.#adoptAt);
    if (this.#queue.lanes.size === 0) return;
    const next = this.#gate.notBefore > now ? this.#gate.notBefore : this.#queue.nextTime(now, this.#limits);
    if (next !== undefined) this.#schedule(next);
  }

  #adopt(): void {
    this.#overflow?.adopt();
    this.#adoptAt = this.#settings.now() + ADOPT_EVERY_MS;
    this.#schedule(this.pending > 0 ? 0 : this.#adoptAt);
  }

  async #send(batch: Batch<Queued>): Promise<void> {
    this.#underWay += 1;
    let result: SendResult;
    try {
      const body = joinRequests(encodeQueued(batch.items));
      // Sizes were estimates until here. One span that is too large may still be within the server's limit.
      result =
        body.length > this.#limits.maxBytes && batch.items.length > 1
          ? { kind: "refused", message: "the request is larger than maxBatchBytes" }
          : await this.#transport.send(body);
    } catch (error) {
      result = { kind: "refused", message: `a span cannot be encoded: ${messageOf(error)}` };
    }
    this.#underWay -= 1;
    if (this.#closed) return;
    this.#settle(batch, result);
    this.#schedule(0);
  }

  #settle(batch: Batch<Queued>, result: SendResult): void {
    const now = this.#settings.now();
    if (result.kind === "busy" || result.kind === "misconfigured") {
      this.#queue.putBack(batch);
      this.#gate.fail(now, result.kind === "busy" ? result.retryAfterMs : undefined);
      this.#sayAway(result);
      // Nobody who waits can hope for more.
      if (result.kind === "misconfigured") this.#waiters.release();
      return;
    }
    this.#gate.open();
    this.#said = undefined;
    if (result.kind === "faulty") this.#settleFaulty(batch, result, now);
    else if (result.kind === "accepted") {
      this.#acceptedAt = now;
      this.#finish(batch, Math.min(result.rejected, batch.items.length), result.message);
    } else if (batch.items.length > 1) this.#queue.split(batch);
    else this.#finish(batch, 1, result.message);
  }

  /**
   * A 500 may be the server's fault or one span's. The request is repeated for as long as the budget allows, then
   * split; a span that is alone gets a budget of its own, and is given up only if others arrived meanwhile.
   */
  #settleFaulty(batch: Batch<Queued>, result: Faulty, now: number): void {
    const { lane } = batch;
    if (lane.failures === 0) lane.failingSince = now;
    if (lane.failures === 0 && lane.parts.length === 0) lane.suspectSince = now;
    lane.failures += 1;
    lane.notBefore =
      now + retryDelay(lane.failures, result.retryAfterMs, this.#settings.random, this.#settings);
    // Time alone says little: the process may have slept between two attempts.
    const patient = now - lane.failingSince < this.#settings.retryBudgetMs || lane.failures < LEAST_FAILURES;
    if (patient || (batch.items.length === 1 && this.#acceptedAt < lane.suspectSince))
      this.#queue.putBack(batch);
    else if (batch.items.length === 1) this.#finish(batch, 1, result.message);
    else {
      this.#queue.split(batch);
      lane.notBefore = now + MIN_DELAY_MS;
      if (lane.parts[0] === 1) lane.failures = 0;
    }
  }

  /** The batch leaves the queue; `failed` of its spans were not taken. */
  #finish(batch: Batch<Queued>, failed: number, why: string): void {
    const { lane, items } = batch;
    this.#queue.settle(batch);
    for (const item of items) this.#overflow?.settled(item);
    lane.notBefore = 0;
    // Parts of a split batch that are left have had their chances already.
    if (lane.parts.length === 0) lane.failures = 0;
    if (this.#queue.bytes <= this.#settings.queueBytes / 2) this.#dropping = false;
    this.#ledger.count(lane.rolloutId, "sent", items.length - failed);
    if (failed > 0) this.#fail(lane.rolloutId, failed, why);
    this.#waiters.settled(lane);
  }

  #sayAway(result: Busy | Misconfigured): void {
    if (this.#said === result.kind) return;
    this.#said = result.kind;
    if (result.kind === "busy") {
      this.#report(new AglError("unavailable", `${result.message}; spans are kept and sent later`));
      return;
    }
    const denied = result.status === 401 || result.status === 403;
    const remedy = denied
      ? "check the store's key"
      : "check that the address is that of a LightningStore, without /v1/traces";
    const code = denied ? "unauthorized" : result.status === 404 ? "not_found" : "unsupported";
    this.#report(
      new AglError(code, `${result.message}; ${remedy}. Spans are kept`, { status: result.status }),
    );
  }

  #fail(rolloutId: string, spans: number, why: string): void {
    this.#ledger.count(rolloutId, "failed", spans);
    const text = `${spans} span(s) of rollout ${rolloutId} were given up: ${why}`;
    this.#report(new AglError("invalid_argument", text));
  }

  #drop(rolloutId: string, why: string): void {
    this.#ledger.count(rolloutId, "failed", 1);
    this.#dropped += 1;
    if (this.#dropping) return;
    this.#dropping = true;
    const message = `spans are dropped, because ${why}`;
    this.#warn("drop", message);
    this.#guard(() => this.#settings.onDrop?.({ dropped: this.#dropped, rolloutId, message }));
  }

  #report(error: AglError): void {
    this.#warn(error.code, error.message);
    this.#guard(() => this.#settings.onError?.(error));
  }

  #warn(kind: string, message: string): void {
    say("warn", `export ${kind}`, message);
  }

  /** Callbacks are other people's code. */
  #guard(call: () => void): void {
    try {
      call();
    } catch {
      // Their fault stays theirs, and there is nobody left to tell.
    }
  }
}

/**
 * A sink that sends spans to a LightningStore over OTLP.
 *
 * @throws AglError `invalid_argument` for an unusable url, key or spool directory; `unsupported` for a spool directory
 *   in a runtime without a file system
 */
export function createStoreSink(options: StoreSinkOptions): EndableSink {
  return new LightningStoreSink(options);
}
