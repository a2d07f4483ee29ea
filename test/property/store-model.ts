/**
 * A store in miniature, written from the rules and not from the engine, for the property test to compare with.
 *
 * @module
 */
import type { AttemptStatus, RolloutConfig, RolloutStatus } from "../../src/protocol/rollout.ts";

/** An attempt of the model. */
export interface ModelAttempt {
  id: string;
  status: AttemptStatus;
  start: number;
  end: number | null;
  beat: number | null;
  late: AttemptStatus | null;
}

/** A rollout of the model. */
export interface ModelRollout {
  id: string;
  status: RolloutStatus;
  end: number | null;
  config: RolloutConfig;
  attempts: ModelAttempt[];
  lastSequence: number;
  spans: Map<string, number>;
}

/** How a call of the model ends: with the code of an error, or with null. */
export type Outcome = "conflict" | "not_found" | null;

const ENDED: AttemptStatus[] = ["succeeded", "failed", "timeout"];
const FINISHED: RolloutStatus[] = ["succeeded", "failed", "cancelled"];
const WAITING: RolloutStatus[] = ["queuing", "requeuing"];

/** The model. Its attempts are numbered by the caller, who gives their ids. */
export class StoreModel {
  now = 0;
  rollouts: ModelRollout[] = [];
  queue: ModelRollout[] = [];

  enqueue(id: string, config: RolloutConfig): ModelRollout {
    const rollout: ModelRollout = {
      id,
      status: "queuing",
      end: null,
      config,
      attempts: [],
      lastSequence: 0,
      spans: new Map(),
    };
    this.rollouts.push(rollout);
    this.queue.push(rollout);
    return rollout;
  }

  /** What the next claim takes. */
  head(limit: number): ModelRollout[] {
    return this.queue.slice(0, Math.max(limit, 0));
  }

  begin(rollout: ModelRollout, attemptId: string): Outcome {
    if (rollout.status === "cancelled") return "conflict";
    const previous = rollout.attempts.at(-1);
    if (previous?.status === "unresponsive") previous.end ??= this.now;
    rollout.attempts.push({
      id: attemptId,
      status: "preparing",
      start: this.now,
      end: null,
      beat: null,
      late: null,
    });
    this.#set(rollout, "preparing");
    return null;
  }

  setRollout(rollout: ModelRollout, status: RolloutStatus): Outcome {
    if (rollout.status === status) return null;
    if (rollout.status === "cancelled") return "conflict";
    if (FINISHED.includes(rollout.status) && !WAITING.includes(status)) return "conflict";
    this.#set(rollout, status);
    return null;
  }

  report(rollout: ModelRollout, attempt: ModelAttempt | undefined, status: AttemptStatus): Outcome {
    if (attempt === undefined) return "not_found";
    if (ENDED.includes(attempt.status) && attempt.status !== status) {
      if (attempt.status !== "timeout" || !["succeeded", "failed"].includes(status)) return "conflict";
      attempt.late = status;
      return null;
    }
    const decides = this.#decides(rollout, attempt);
    const retry =
      rollout.config.retry_condition.includes(status) &&
      rollout.attempts.length < rollout.config.max_attempts;
    const good = status === "preparing" || status === "running" || status === "succeeded";
    const meaning: RolloutStatus = good ? status : retry ? "requeuing" : "failed";
    if (attempt.status !== status) {
      attempt.status = status;
      const over = status === "unresponsive" && !(decides && retry);
      attempt.end = ENDED.includes(status) || over ? this.now : null;
    }
    if (decides && rollout.status !== meaning) this.#set(rollout, meaning);
    return null;
  }

  /** The sequence id that the span gets; null when it is there already. */
  addSpan(rollout: ModelRollout, attempt: ModelAttempt, spanId: string, given: number): number | null {
    const key = `${attempt.id} ${spanId}`;
    if (rollout.spans.has(key)) return null;
    const sequence = given > 0 ? given : rollout.lastSequence + 1;
    rollout.lastSequence = Math.max(rollout.lastSequence, sequence);
    rollout.spans.set(key, sequence);
    return sequence;
  }

  beat(rollout: ModelRollout, attempt: ModelAttempt): void {
    const decides = this.#decides(rollout, attempt) && !ENDED.includes(attempt.status);
    attempt.beat = this.now;
    if (attempt.status === "preparing" || attempt.status === "unresponsive") {
      attempt.status = "running";
      attempt.end = null;
    }
    if (decides && rollout.status !== "running") this.#set(rollout, "running");
  }

  expire(): number {
    let ended = 0;
    for (const rollout of this.rollouts) {
      const attempt = rollout.attempts.at(-1);
      if (attempt === undefined || ENDED.includes(attempt.status)) continue;
      if (rollout.status !== "preparing" && rollout.status !== "running") continue;
      const { timeout_seconds: timeout, unresponsive_seconds: silence } = rollout.config;
      const silent = this.now - (attempt.beat ?? attempt.start);
      if (timeout !== null && this.now - attempt.start > timeout) this.report(rollout, attempt, "timeout");
      else if (silence !== null && silent > silence) this.report(rollout, attempt, "unresponsive");
      else continue;
      ended++;
    }
    return ended;
  }

  finished(): ModelRollout[] {
    return this.rollouts.filter((rollout) => FINISHED.includes(rollout.status));
  }

  #decides(rollout: ModelRollout, attempt: ModelAttempt): boolean {
    if (rollout.attempts.at(-1) !== attempt) return false;
    if (rollout.status === "preparing" || rollout.status === "running") return true;
    return rollout.status === "requeuing" && attempt.status === "unresponsive" && attempt.end === null;
  }

  #set(rollout: ModelRollout, status: RolloutStatus): void {
    const waits = WAITING.includes(status);
    if (!waits) this.queue = this.queue.filter((other) => other !== rollout);
    else if (!this.queue.includes(rollout)) this.queue.push(rollout);
    rollout.end = FINISHED.includes(status) ? (rollout.end ?? this.now) : null;
    rollout.status = status;
  }
}
