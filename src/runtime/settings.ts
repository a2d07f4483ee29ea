/**
 * What the agent's side can be told, by `configure` or by environment variables.
 *
 * @module
 */
import type { AglError } from "../errors.ts";
import type { OtelSpanExporter } from "../export/exporter-sink.ts";
import type { FlushReport } from "../export/sink.ts";
import type { DropReport } from "../export/store-options.ts";

/** Options of {@link configure}. What is left out comes from the environment, then from the defaults. */
export interface ConfigureOptions {
  /** Base URL of a LightningStore, for example `http://127.0.0.1:4747`. Default: `AGL_STORE_URL`; null: none. */
  storeUrl?: string | null;
  /** Bearer key of the store. Default: `AGL_KEY`. */
  key?: string;
  /** OpenTelemetry span exporters that get every span, inside and outside rollouts. Default: none. */
  exporters?: readonly OtelSpanExporter[];
  /**
   * Folder in which spans are kept that the store did not take yet, when the queue is full or the process ends; they
   * are sent by the next process that is given the same folder. Node only. Default: `AGL_SPOOL_DIR`, else none.
   */
  spoolDirectory?: string | null;
  /** Bytes of spans that may wait in memory, about. Default: 64 MiB. */
  queueBytes?: number;
  /**
   * Milliseconds that a rollout waits for the store to start it, at most; then it runs without the store.
   * Default: 5 000.
   */
  startTimeoutMs?: number;
  /** Milliseconds that the end of a rollout waits for its delivery before it goes on in the background. Default: 30 000. */
  reportTimeoutMs?: number;
  /** Milliseconds that the process's end may be held up by delivery. Default: 5 000. */
  exitTimeoutMs?: number;
  /** Whether waiting spans are delivered on SIGTERM, SIGINT and at the natural end of the process. Default: true. */
  exitHooks?: boolean;
  /** Told when spans begin to be dropped because memory and spool are full. Also logged through OpenTelemetry's `diag`. */
  onDrop?: (report: DropReport) => void;
  /** Told of spans that the store refused for good, of outages (once each) and of a wrong address or key. */
  onError?: (error: AglError) => void;
  /** Replaces `fetch` for calls of the store. */
  fetch?: typeof fetch;
}

/** What became of the spans, as `flush` and `shutdown` tell. */
export type { DropReport, FlushReport };

/** The variables of the environment that this package reads on the agent's side. */
export interface Environment {
  AGL_STORE_URL?: string | undefined;
  AGL_KEY?: string | undefined;
  AGL_ROLLOUT_ID?: string | undefined;
  AGL_ATTEMPT_ID?: string | undefined;
  AGL_ROLLOUT_MODE?: string | undefined;
  AGL_SPOOL_DIR?: string | undefined;
}

/** The environment, where the runtime has one. */
export function readEnvironment(): Environment {
  const process = (globalThis as { process?: { env?: Environment } }).process;
  return process?.env ?? {};
}
