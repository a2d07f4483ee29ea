/**
 * Wires capture to its destinations.
 *
 * @module
 */
import { listenToRegistry } from "../capture/ai-sdk/registry.ts";
import { createLightningStoreClient, type LightningStoreClient } from "../client/client.ts";
import { AglError } from "../errors.ts";
import { installExitHooks } from "../export/exit.ts";
import { createExporterSink } from "../export/exporter-sink.ts";
import { createFanOut } from "../export/fan-out.ts";
import type { FlushReport, SpanSink } from "../export/sink.ts";
import { createStoreSink } from "../export/store-sink.ts";
import { ownGlobal } from "../internal/own-global.ts";
import { say } from "../internal/say.ts";
import { openOutsideRollouts, setDestinations } from "../trace/recorder.ts";
import { currentScope } from "../trace/scope.ts";
import { endOpenSpans } from "./end-open-spans.ts";
import { type ConfigureOptions, readEnvironment } from "./settings.ts";

/** What `configure` made: where spans go and who reports. */
export interface Runtime {
  readonly client: LightningStoreClient | undefined;
  readonly storeSink: SpanSink | undefined;
  readonly exporters: SpanSink | undefined;
  readonly startTimeoutMs: number;
  readonly reportTimeoutMs: number;
  /** Reports of ended rollouts that are still on their way. */
  readonly reports: Set<Promise<void>>;
  readonly removeExitHooks: () => void;
}

const state = ownGlobal<{ runtime: Runtime | undefined }>("runtime", () => ({ runtime: undefined }));

/** The runtime, made from the environment on first use; a wrong address there is told, and is as good as none. */
export function runtime(): Runtime {
  if (state.runtime === undefined) {
    try {
      state.runtime = build({});
    } catch (error) {
      say("error", "address", `nothing is sent: ${error instanceof Error ? error.message : error}`);
      state.runtime = build({ storeUrl: null });
    }
  }
  return state.runtime;
}

/**
 * Says where spans go. Needed only when the environment does not say it (`AGL_STORE_URL`), or for exporters. A second
 * call replaces the first; what the first still holds is delivered in the background.
 *
 * @throws AglError `invalid_argument` when `storeUrl` is no http(s) URL
 * @example
 * ```ts
 * import * as agl from "agentlightning";
 * agl.configure({ storeUrl: "http://127.0.0.1:4747" });
 * ```
 */
export function configure(options: ConfigureOptions = {}): void {
  const next = build(options);
  const previous = state.runtime;
  state.runtime = next;
  if (previous !== undefined) void close(previous, undefined);
}

function build(options: ConfigureOptions): Runtime {
  const env = readEnvironment();
  const url = checkUrl(options.storeUrl === undefined ? env.AGL_STORE_URL : options.storeUrl);
  const key = options.key ?? env.AGL_KEY;
  const spoolDirectory = options.spoolDirectory === undefined ? env.AGL_SPOOL_DIR : options.spoolDirectory;
  const shared = {
    ...(key === undefined || key === "" ? {} : { key }),
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  };
  const client = url === undefined ? undefined : createLightningStoreClient({ url, ...shared });
  const storeSink =
    url === undefined
      ? undefined
      : createStoreSink({
          url,
          ...shared,
          holdsProcess: options.exitHooks === false,
          ...(options.queueBytes === undefined ? {} : { queueBytes: options.queueBytes }),
          ...(spoolDirectory ? { spoolDirectory } : {}),
          ...(options.onDrop === undefined ? {} : { onDrop: options.onDrop }),
          ...(options.onError === undefined ? {} : { onError: options.onError }),
        });
  const exporters =
    options.exporters === undefined || options.exporters.length === 0
      ? undefined
      : createFanOut(options.exporters.map((exporter) => createExporterSink(exporter)));
  setDestinations({
    store: storeSink === undefined ? undefined : (span) => storeSink.add(span),
    exporters: exporters === undefined ? undefined : (span) => exporters.add(span),
  });
  if (storeSink !== undefined || exporters !== undefined) listenToRegistry();
  const sinks = [storeSink, exporters].filter((sink) => sink !== undefined);
  const removeExitHooks =
    sinks.length === 0 || options.exitHooks === false
      ? () => {}
      : installExitHooks(createFanOut(sinks), { timeoutMs: options.exitTimeoutMs ?? 5_000 });
  return {
    client,
    storeSink,
    exporters,
    startTimeoutMs: options.startTimeoutMs ?? 5_000,
    reportTimeoutMs: options.reportTimeoutMs ?? 30_000,
    reports: new Set(),
    removeExitHooks,
  };
}

function checkUrl(url: string | null | undefined): string | undefined {
  if (url === null || url === undefined || url === "") return undefined;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new AglError(
      "invalid_argument",
      `The store's URL "${url}" is not an http or https URL. Give one such as "http://127.0.0.1:4747" (storeUrl or AGL_STORE_URL).`,
    );
  }
  return url.replace(/\/+$/, "");
}

/** Options of {@link flush} and {@link shutdown}. */
export interface FlushOptions {
  /** Milliseconds to wait at most. Default: 30 000. */
  timeoutMs?: number;
}

/**
 * Delivers what is waiting, and waits for what is under way.
 *
 * @returns counts since the last call, of the store when there is one, else of the exporters. Never rejects.
 * @example
 * ```ts
 * import * as agl from "agentlightning";
 * const { sent, failed, pending } = await agl.flush({ timeoutMs: 5_000 });
 * ```
 */
export async function flush(options: FlushOptions = {}): Promise<FlushReport> {
  return drain(runtime(), options.timeoutMs ?? 30_000, (sink, timeoutMs) => sink.flush({ timeoutMs }));
}

/** Ends open spans, delivers everything, and records nothing more until `configure` is called again. Never rejects. */
export async function shutdown(options: FlushOptions = {}): Promise<FlushReport> {
  const current = runtime();
  endOpenSpans(openOutsideRollouts());
  const rollout = currentScope()?.rollout;
  if (rollout?.process === true) endOpenSpans(rollout.open);
  const report = await close(current, options.timeoutMs);
  if (state.runtime === current) {
    setDestinations({});
    state.runtime = undefined;
  }
  return report;
}

async function close(target: Runtime, timeoutMs = 30_000): Promise<FlushReport> {
  target.removeExitHooks();
  return drain(target, timeoutMs, (sink, left) => sink.shutdown({ timeoutMs: left }));
}

async function drain(
  target: Runtime,
  timeoutMs: number,
  use: (sink: SpanSink, timeoutMs: number) => Promise<FlushReport>,
): Promise<FlushReport> {
  const none: FlushReport = { sent: 0, failed: 0, pending: 0 };
  // A rollout's report waits for its spans, so it must not be cut off by the sink's end.
  await settled([...target.reports], timeoutMs);
  const [store, exporters] = await Promise.all([
    target.storeSink === undefined ? undefined : use(target.storeSink, timeoutMs),
    target.exporters === undefined ? undefined : use(target.exporters, timeoutMs),
  ]);
  return store ?? exporters ?? none;
}

/** Waits until all of `promises` are settled, at most `timeoutMs`. */
export async function settled(promises: readonly Promise<unknown>[], timeoutMs: number): Promise<void> {
  if (promises.length === 0) return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([Promise.allSettled(promises), deadline]);
  clearTimeout(timer);
}
