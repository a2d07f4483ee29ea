/**
 * Delivery at the end of the process: its natural end, SIGTERM and SIGINT, each within a deadline; and what can still
 * be saved when the process is cut off. Does nothing in runtimes without such events.
 *
 * @module
 */
import { ownGlobal } from "../internal/own-global.ts";
import type { SpanSink } from "./sink.ts";
import { type SetTimer, systemTimer } from "./timer.ts";

/** A sink that can say what waits, and save it without waiting. */
export interface EndableSink extends SpanSink {
  /** Spans that wait. */
  readonly pending: number;
  /** Ends the requests under way, which hold the process, and starts none before there is more or somebody flushes. */
  interrupt(): void;
  /** Saves what waits, synchronously; gives the number of spans that could not be saved. */
  rescue(): number;
}

/** Options of {@link installExitHooks}. */
export interface ExitHookOptions {
  /** Milliseconds that the end of the process may be held up; 5 000 by default. */
  timeoutMs?: number;
  /** False where signals are no concern of this package; true by default. */
  signals?: boolean;
  /** Milliseconds of any origin. */
  now?: () => number;
  setTimer?: SetTimer;
}

type Signal = "SIGTERM" | "SIGINT";
type EventName = Signal | "beforeExit" | "exit";

interface ProcessLike {
  pid: number;
  on(event: EventName, listener: () => void): unknown;
  removeListener(event: EventName, listener: () => void): unknown;
  listenerCount(event: EventName): number;
  kill(pid: number, signal: Signal): unknown;
}

interface Hook {
  sink: EndableSink;
  timeoutMs: number;
  signals: boolean;
  now: () => number;
  setTimer: SetTimer;
  /** When the present row of natural ends must be over. */
  deadline: number | undefined;
  flushing: boolean;
  /** What was left after the last flush: no use in trying again before there is more. */
  stuck: number;
}

const SIGNALS: readonly Signal[] = ["SIGTERM", "SIGINT"];

/** One set of listeners for the process, whatever the number of sinks and of copies of this package. */
class ExitWatch {
  readonly #process: ProcessLike;
  readonly #hooks = new Set<Hook>();
  #removeListeners: (() => void) | undefined;
  readonly #ending = new Set<Signal>();

  constructor(process: ProcessLike) {
    this.#process = process;
  }

  add(hook: Hook): () => void {
    this.#removeListeners ??= this.#listen();
    this.#hooks.add(hook);
    return () => {
      this.#hooks.delete(hook);
      if (this.#hooks.size > 0) return;
      this.#removeListeners?.();
      this.#removeListeners = undefined;
    };
  }

  #listen(): () => void {
    const listeners: Array<[EventName, () => void]> = [
      ["beforeExit", () => this.#naturalEnd()],
      ["exit", () => this.#rescue()],
      ...SIGNALS.map((signal): [EventName, () => void] => [signal, () => this.#signalled(signal)]),
    ];
    for (const [event, listener] of listeners) this.#process.on(event, listener);
    return () => {
      for (const [event, listener] of listeners) this.#process.removeListener(event, listener);
    };
  }

  /** The runtime calls it again after whatever was waited for, so it must know when to let the process go. */
  #naturalEnd(): void {
    for (const hook of this.#hooks) {
      if (hook.sink.pending === 0) hook.deadline = undefined;
      else if (!hook.flushing && hook.sink.pending !== hook.stuck) void this.#lastFlush(hook);
    }
  }

  async #lastFlush(hook: Hook): Promise<void> {
    const now = hook.now();
    hook.deadline ??= now + hook.timeoutMs;
    if (hook.deadline <= now) return;
    hook.flushing = true;
    await flushWithin(hook, hook.deadline - now);
    hook.sink.interrupt();
    hook.flushing = false;
    hook.stuck = hook.sink.pending;
  }

  #signalled(signal: Signal): void {
    const concerned = [...this.#hooks].filter((hook) => hook.signals);
    const othersListen = this.#process.listenerCount(signal) > 1;
    // A second signal means now.
    if (this.#ending.has(signal) || concerned.length === 0) {
      if (!othersListen) this.#raise(signal);
      return;
    }
    this.#ending.add(signal);
    void Promise.all(concerned.map((hook) => flushWithin(hook, hook.timeoutMs))).then(() => {
      // Who else listens has plans of its own for the end of the process.
      if (othersListen) this.#ending.delete(signal);
      else this.#raise(signal);
    });
  }

  /** Ends the process the way the signal would have, had nobody listened. */
  #raise(signal: Signal): void {
    this.#rescue();
    this.#removeListeners?.();
    this.#removeListeners = undefined;
    this.#process.kill(this.#process.pid, signal);
  }

  #rescue(): void {
    for (const hook of this.#hooks) {
      try {
        hook.sink.rescue();
      } catch {
        // The process ends either way.
      }
    }
  }
}

/** A flush that ends at the deadline even where the sink's own does not. */
async function flushWithin(hook: Hook, timeoutMs: number): Promise<void> {
  let cancel: (() => void) | undefined;
  const deadline = new Promise<void>((resolve) => {
    cancel = hook.setTimer(resolve, timeoutMs, { ref: true });
  });
  await Promise.race([hook.sink.flush({ timeoutMs }).catch(() => undefined), deadline]);
  cancel?.();
}

/**
 * Delivers what `sink` holds when the process ends: a natural end and signals wait for it, at most `timeoutMs`; at
 * `process.exit` and after an uncaught error what waits is saved to the spool, where there is one. A signal that
 * nobody else listens to is raised again afterwards, so the process ends as if nobody had listened.
 *
 * @returns removes the hooks
 */
export function installExitHooks(sink: EndableSink, options: ExitHookOptions = {}): () => void {
  const process = (globalThis as { process?: Partial<ProcessLike> }).process;
  if (typeof process?.on !== "function" || typeof process.kill !== "function") return () => undefined;
  const watch = ownGlobal("exit-watch", () => new ExitWatch(process as ProcessLike));
  try {
    return watch.add({
      sink,
      timeoutMs: options.timeoutMs ?? 5_000,
      signals: options.signals ?? true,
      now: options.now ?? (() => performance.now()),
      setTimer: options.setTimer ?? systemTimer,
      deadline: undefined,
      flushing: false,
      stuck: 0,
    });
  } catch {
    // Next's edge runtime has the functions, and throws when they are called.
    return () => undefined;
  }
}
