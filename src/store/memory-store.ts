/**
 * A store in this process's memory, for tests and short runs.
 *
 * @module
 */
import { createEngine } from "./engine.ts";
import type { EngineOptions } from "./engine-core.ts";
import type { LocalStore } from "./interface.ts";
import { createMemoryBackend } from "./memory-backend.ts";

/** Options of {@link openMemoryStore}. */
export interface MemoryStoreOptions extends EngineOptions {
  /**
   * Bytes of text that the spans may take in all; infinite by default. Nothing is ever evicted: a batch that would go
   * over the limit is refused as a whole with `unavailable`.
   */
  maxSpanBytes?: number;
}

/** Opens an empty store that is gone when it is closed or the process ends. */
export async function openMemoryStore(options: MemoryStoreOptions = {}): Promise<LocalStore> {
  const limit = options.maxSpanBytes === undefined ? {} : { maxSpanBytes: options.maxSpanBytes };
  return createEngine(createMemoryBackend(limit), options);
}
