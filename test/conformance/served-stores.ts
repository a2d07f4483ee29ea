/**
 * The servers that a client must find the same: ours with each store, and the Python package's.
 *
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveStore } from "../../src/server/serve.ts";
import { openMemoryStore, openSqliteStore } from "../../src/store/index.ts";
import { python } from "./python-package.ts";

/** A server at `url`. */
export interface ServedStore {
  url: string;
  close(): Promise<void>;
}

/** Our server, with each store that needs nothing but this machine. */
export const OUR_SERVERS: Record<string, () => Promise<ServedStore>> = {
  "our server in memory": async () => serveStore({ store: await openMemoryStore(), port: 0 }),
  "our server on SQLite": async () => {
    const directory = await mkdtemp(join(tmpdir(), "agl-conformance-"));
    const server = await serveStore({
      store: await openSqliteStore({ path: join(directory, "store.sqlite") }),
      port: 0,
    });
    return {
      url: server.url,
      close: async () => {
        await server.close();
        await rm(directory, { recursive: true, force: true });
      },
    };
  },
};

export const PYTHON_SERVER = "the Python server";

/** Ours, and the Python package's own. */
export const ALL_SERVERS: Record<string, () => Promise<ServedStore>> = {
  ...OUR_SERVERS,
  [PYTHON_SERVER]: async () => {
    const url = await python.serveStore();
    return {
      url,
      close: async () => {
        await python.stopStore(url);
      },
    };
  },
};
