/**
 * One way of using a client, run with and without instrumentation.
 *
 * @module
 */
import type { Transcript } from "./transcript.ts";
import type { AnyClient } from "./versions.ts";
import type { WireScript } from "./wire-server.ts";

/** What a scenario gets beside the client. */
export interface Stage {
  /** Notes what the caller sees. */
  note: Transcript["note"];
  /** The caller's own signal; listeners that stay on it are counted afterwards. */
  controller: AbortController;
  /** Resolves once the server has seen `count` connections break. */
  broken(count: number): Promise<void>;
}

/** A scenario. */
export interface Scenario {
  name: string;
  reply: WireScript;
  run(client: AnyClient, stage: Stage): Promise<unknown>;
  /** Outcomes of the spans, in the order of their ends; by major where the SDKs themselves differ. */
  outcomes: readonly string[] | ((major: number) => readonly string[]);
  /** Spans that only the end of the rollout can end; 0 by default. */
  open?: number;
  /** The majors that have the method; all by default. Elsewhere both sides must fail alike. */
  majors?: readonly number[];
}

/** Runs `fn` and notes what it throws. */
export async function attempt(stage: Stage, fn: () => unknown): Promise<void> {
  try {
    stage.note("value", await fn());
  } catch (error) {
    stage.note("thrown", error);
  }
}

/** Notes every chunk of a stream, and how it ends. */
export async function consume(stage: Stage, stream: AsyncIterable<unknown>, label = "chunk"): Promise<void> {
  try {
    for await (const chunk of stream) stage.note(label, chunk);
    stage.note(`${label}s end`);
  } catch (error) {
    stage.note(`${label}s fail`, error);
  }
}

/** A request for a chat completion. */
export const ASK = { model: "toy", messages: [{ role: "user", content: "Hi" }] };
/** The same as a stream. */
export const ASK_STREAM = { ...ASK, stream: true };
