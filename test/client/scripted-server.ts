/**
 * A real HTTP server on loopback that answers as the test says and records what it got.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: unknown;
}

/** What to do with one request: an answer, or a function that has the raw response. */
export type Step =
  | { status?: number; json?: unknown; text?: string; headers?: Record<string, string> }
  | ((response: ServerResponse, seen: Seen) => void);

export interface ScriptedServer {
  url: string;
  seen: Seen[];
  close(): Promise<void>;
}

/** Answers with the steps in order, the last one again and again; or, given a function, with what it returns. */
export async function serveScript(
  script: Step[] | ((seen: Seen, index: number) => Step),
): Promise<ScriptedServer> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const entry: Seen = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body: text === "" ? undefined : JSON.parse(text),
      };
      seen.push(entry);
      const index = seen.length - 1;
      const step =
        typeof script === "function" ? script(entry, index) : script[Math.min(index, script.length - 1)];
      if (step === undefined) throw new Error("no step");
      if (typeof step === "function") {
        step(response, entry);
        return;
      }
      const body = step.text ?? JSON.stringify(step.json ?? null);
      response.writeHead(step.status ?? 200, {
        "content-type": step.text === undefined ? "application/json" : "text/html",
        ...step.headers,
      });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Drops the connection without an answer. */
export const reset: Step = (response) => response.socket?.resetAndDestroy();

/** Starts an answer and drops the connection in the middle of it. */
export const resetInBody: Step = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  response.write("[", () => response.socket?.resetAndDestroy());
};

/** Never answers. */
export const hang: Step = () => {};

/** Time that moves only when somebody sleeps. */
export function fakeTime() {
  let time = 0;
  const slept: number[] = [];
  return {
    slept,
    now: () => time,
    advance(ms: number) {
      time += ms;
    },
    async sleep(ms: number, signal: AbortSignal) {
      if (signal.aborted) throw signal.reason;
      slept.push(ms);
      time += ms;
    },
  };
}
