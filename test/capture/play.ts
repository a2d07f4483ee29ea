/**
 * Plays a scenario against the wire server.
 *
 * @module
 */
import { getEventListeners } from "node:events";
import { turn } from "./recorded.ts";
import type { Scenario } from "./scenario.ts";
import { createTranscript, describe as inWords } from "./transcript.ts";
import type { AnyClient } from "./versions.ts";
import type { WireServer } from "./wire-server.ts";

/** Runs a scenario once; what the caller, the process and the server saw. */
export async function play(
  server: WireServer,
  scenario: Scenario,
  client: AnyClient,
): Promise<Record<string, unknown>> {
  const requests = server.play(scenario.reply);
  const { entries, note } = createTranscript();
  const controller = new AbortController();
  const others = process.listeners("unhandledRejection");
  const unhandled: unknown[] = [];
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (error) => void unhandled.push(inWords(error)));
  const broken = async (count: number) => {
    while (server.broken() < count) await turn();
  };
  try {
    await scenario.run(client, { note, controller, broken });
  } catch (error) {
    note("thrown", error);
  }
  // Rejections that nobody handles are told after the promises of a turn have settled.
  for (let i = 0; i < 3; i++) await turn();
  // A timer of the shortest kind that started during the scenario fires before this one.
  await new Promise((resolve) => setTimeout(resolve, 0));
  process.removeAllListeners("unhandledRejection");
  for (const listener of others) process.on("unhandledRejection", listener);
  return {
    entries,
    unhandled,
    listeners: getEventListeners(controller.signal, "abort").length,
    requests: requests.map(({ path, headers, body }) => ({ path, headers, body })),
  };
}
