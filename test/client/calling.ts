/**
 * Calls of a client on a scripted server.
 *
 * @module
 */
import { type AddressInfo, createServer } from "node:net";
import { afterEach, expect } from "vitest";
import { createLightningStoreClient, type LightningStoreClient } from "../../src/client/client.ts";
import { AglError } from "../../src/errors.ts";
import { fakeTime, type ScriptedServer, type Step, serveScript } from "./scripted-server.ts";

const servers: ScriptedServer[] = [];
/** Serves a script until the end of the test. */
export async function serve(script: Parameters<typeof serveScript>[0]): Promise<ScriptedServer> {
  const server = await serveScript(script);
  servers.push(server);
  return server;
}
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** The AglError that `call` must end in. */
export async function failureOf(call: Promise<unknown>): Promise<AglError> {
  const error = await call.then(
    (value) => expect.fail(`resolved with ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  if (!AglError.is(error)) throw error;
  return error;
}

/** A port of loopback where nobody listens. */
export async function unusedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}

/** An answer that every call can use. */
export const GOOD: Step = { json: { sequence_id: 7, items: [] } };

/** A client whose pauses take no time. */
export function clientOf(url: string, time = fakeTime(), timeoutMs = 20_000): LightningStoreClient {
  return createLightningStoreClient({
    url,
    timeoutMs,
    random: () => 0.5,
    sleep: time.sleep,
    now: time.now,
  });
}
