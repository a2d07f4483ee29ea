/**
 * Our server with a SQLite file, as a program: prints its address and ends with its standard input.
 *
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveStore } from "../../src/server/serve.ts";
import { openSqliteStore } from "../../src/store/sqlite-store.ts";

const folder = await mkdtemp(join(tmpdir(), "agentlightning-bench-"));
const store = await openSqliteStore({ path: join(folder, "store.sqlite") });
const server = await serveStore({ store, port: 0 });
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
process.stdin.resume().once("end", async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});
