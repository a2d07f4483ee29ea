/**
 * Load on a store, as a program: `load.js <url> <seconds> <text|tokens|cycles>`. The requests are made before the clock runs, by this
 * package's own recorder and exporter; then they are sent as fast as the store takes them.
 *
 * @module
 */
import OpenAI from "openai";
import * as agl from "../../src/index.ts";
import { answering, conversation } from "../call/model.ts";

/** What a store did, per second. */
export interface Rates {
  /** Rollouts enqueued, claimed and finished; or spans. */
  rate: number;
  /** Bytes of one span on the wire; 0 for rollouts. */
  spanBytes: number;
}

const ROLLOUTS = 100;
const CALLS = 127;
const UNDER_WAY = 4;
const WORKERS = 8;

const [, , url = "", seconds = "4", kind = "text"] = process.argv;
const limitMs = Number(seconds) * 1_000;
const MESSAGES = conversation(5, 540);

interface Body {
  bytes: Uint8Array<ArrayBuffer>;
  spans: number;
}

/** Runs rollouts whose spans go no further than into `bodies`; the rollouts themselves are started at the store. */
async function prepare(): Promise<Body[]> {
  const bodies: Body[] = [];
  const keep = async (input: unknown, init?: RequestInit): Promise<Response> => {
    const target = String(input);
    if (target.endsWith("/v1/traces")) {
      bodies.push({ bytes: init?.body as Uint8Array<ArrayBuffer>, spans: CALLS + 1 });
      return new Response(new Uint8Array(), { headers: { "content-type": "application/x-protobuf" } });
    }
    // The end of a rollout is not reported: its spans are still to come.
    if (target.includes("/attempts/")) return Response.json({});
    return fetch(target, init);
  };
  agl.configure({ storeUrl: url, fetch: keep as typeof fetch, exitHooks: false });
  const client = agl.instrument(
    new OpenAI({ apiKey: "none", baseURL: "http://model/v1", fetch: answering(kind === "tokens") }),
  );
  for (let i = 0; i < ROLLOUTS; i++) {
    const { stored } = await agl.rollout(
      { input: { task: i }, mode: kind === "tokens" ? "train" : "val" },
      async () => {
        for (let n = 0; n < CALLS; n++) {
          await client.chat.completions.create({ model: "qwen2.5-7b-instruct", messages: MESSAGES });
        }
      },
    );
    if (!stored) throw new Error(`the store at ${url} started no rollout`);
  }
  if (bodies.length !== ROLLOUTS) throw new Error(`${bodies.length} requests for ${ROLLOUTS} rollouts`);
  return bodies;
}

/** Runs `step` in `workers` loops until it gives false or the time is up; the amount done for each second. */
async function rate(workers: number, step: () => Promise<number | false>): Promise<number> {
  let done = 0;
  const start = performance.now();
  let last = start;
  const loop = async () => {
    while (performance.now() - start < limitMs) {
      const amount = await step();
      if (amount === false) return;
      done += amount;
      last = performance.now();
    }
  };
  await Promise.all(Array.from({ length: workers }, loop));
  return done / ((last - start) / 1_000);
}

async function post(path: string, body: string | Uint8Array<ArrayBuffer>, type: string): Promise<Response> {
  const response = await fetch(`${url}${path}`, { method: "POST", headers: { "content-type": type }, body });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response;
}

async function exportNext(bodies: Body[]): Promise<number | false> {
  const body = bodies.pop();
  if (body === undefined) return false;
  const response = await post("/v1/traces", body.bytes, "application/x-protobuf");
  // An answer without bytes says that all spans were taken.
  if ((await response.arrayBuffer()).byteLength > 4) throw new Error("the store turned spans down");
  return body.spans;
}

async function cycle(): Promise<number> {
  const json = async <T>(path: string, body: unknown) =>
    (await (await post(`/v1/agl${path}`, JSON.stringify(body), "application/json")).json()) as T;
  await json("/queues/rollouts/enqueue", { rollouts: [{ input: { question: "6 * 7" }, mode: "train" }] });
  const claimed = await json<Array<{ rollout_id: string; attempt: { attempt_id: string } }>>(
    "/queues/rollouts/dequeue",
    { limit: 1, worker_id: null },
  );
  for (const { rollout_id, attempt } of claimed) {
    await json(`/rollouts/${rollout_id}/attempts/${attempt.attempt_id}`, { status: "succeeded" });
  }
  return claimed.length;
}

async function measure(): Promise<Rates> {
  if (kind === "cycles") return { rate: await rate(WORKERS, cycle), spanBytes: 0 };
  const bodies = await prepare();
  const spanBytes = (bodies[0] as Body).bytes.length / (CALLS + 1);
  return { rate: await rate(UNDER_WAY, () => exportNext(bodies)), spanBytes };
}

process.stdout.write(`${JSON.stringify(await measure())}\n`);
process.exit(0);
