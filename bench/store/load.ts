/**
 * Load on a store, as a program: `load.js <url> <seconds> <text|tokens|cycles> [pid of the server]`. One request of
 * spans is made before the clock runs, by this package's own recorder and exporter, and then sent for one rollout
 * after the other as fast as the store takes it. The client is as bare as can be, so that the store is the limit.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import OpenAI from "openai";
import * as agl from "../../src/index.ts";
import { answering, conversation } from "../call/model.ts";

/** What a store did. */
export interface Rates {
  /** Spans, or rollouts enqueued, claimed and finished, per second. */
  rate: number;
  /** The same per second that the server's processor was at work for it; null where that cannot be known. */
  perCpuSecond: number | null;
  /** Bytes of one span on the wire; 0 for rollouts. */
  spanBytes: number;
}

const CALLS = 127;
const SPANS = CALLS + 1;
const UNDER_WAY = 4;
const WORKERS = 8;
/** Seconds of load before the clock runs: compilers and caches are warm then. */
const WARM_UP = 2;
/** Rollouts that are claimed at once, to send spans for. */
const BATCH = 50;
/** Clock ticks a second in /proc, the same on every Linux that Node runs on. */
const TICKS = 100;

const [, , url = "", seconds = "4", kind = "text", pid] = process.argv;
const agent = new Agent({ keepAlive: true, maxSockets: WORKERS });

interface Ids {
  rollout: string;
  attempt: string;
}

function post(path: string, body: string | Uint8Array, type = "application/json"): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": type, "content-length": Buffer.byteLength(body) };
    const sent = request(`${url}${path}`, { method: "POST", agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const answer = Buffer.concat(chunks);
        if ((response.statusCode ?? 0) < 300) resolve(answer);
        else reject(new Error(`${path} answered ${response.statusCode}: ${answer}`));
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function json<T>(path: string, body: unknown): Promise<T> {
  return JSON.parse((await post(`/v1/agl${path}`, JSON.stringify(body))).toString()) as T;
}

/** Runs one rollout whose spans go no further than here: the request that its exporter makes. */
async function record(): Promise<{ body: Buffer; ids: Ids }> {
  const bodies: Uint8Array[] = [];
  const keep = async (input: unknown, init?: RequestInit): Promise<Response> => {
    const target = String(input);
    if (target.endsWith("/v1/traces")) {
      bodies.push(init?.body as Uint8Array);
      return new Response(new Uint8Array(), { headers: { "content-type": "application/x-protobuf" } });
    }
    // The end of a rollout is not reported: its spans are still to come.
    return target.includes("/attempts/") ? Response.json({}) : fetch(target, init);
  };
  agl.configure({ storeUrl: url, fetch: keep as typeof fetch, exitHooks: false });
  const client = agl.instrument(
    new OpenAI({ apiKey: "none", baseURL: "http://model/v1", fetch: answering(kind === "tokens") }),
  );
  const messages = conversation(5, 540);
  const { rolloutId, attemptId, stored } = await agl.rollout(
    { input: { task: 0 }, mode: kind === "tokens" ? "train" : "val" },
    async () => {
      for (let n = 0; n < CALLS; n++) {
        await client.chat.completions.create({ model: "qwen2.5-7b-instruct", messages });
      }
    },
  );
  if (!stored || bodies.length !== 1) throw new Error(`${bodies.length} requests for one rollout at ${url}`);
  return { body: Buffer.from(bodies[0] as Uint8Array), ids: { rollout: rolloutId, attempt: attemptId } };
}

/** Where `text` stands in `body`. */
function placesOf(body: Buffer, text: string): number[] {
  const places: number[] = [];
  for (let at = body.indexOf(text); at >= 0; at = body.indexOf(text, at + 1)) places.push(at);
  return places;
}

/** A step that sends the recorded spans once more, as those of a rollout that has none yet. */
async function exportStep(): Promise<{ step: () => Promise<number>; spanBytes: number }> {
  const { body, ids } = await record();
  const rollouts = placesOf(body, ids.rollout);
  const attempts = placesOf(body, ids.attempt);
  const idle = Array.from({ length: UNDER_WAY }, () => Buffer.from(body));
  const ready: Ids[] = [];
  let claiming: Promise<void> | undefined;
  const claim = async () => {
    const made = Array.from({ length: BATCH }, (_, task) => ({ input: { task }, mode: "val" }));
    await json("/queues/rollouts/enqueue", { rollouts: made });
    const claimed = await json<Claimed[]>("/queues/rollouts/dequeue", { limit: BATCH });
    for (const { rollout_id, attempt } of claimed) {
      if (rollout_id.length !== ids.rollout.length || attempt.attempt_id.length !== ids.attempt.length) {
        throw new Error(
          `the ids ${rollout_id} and ${attempt.attempt_id} are not as long as the recorded ones`,
        );
      }
      ready.push({ rollout: rollout_id, attempt: attempt.attempt_id });
    }
    claiming = undefined;
  };
  const step = async () => {
    while (ready.length === 0) {
      claiming ??= claim();
      await claiming;
    }
    const next = ready.pop() as Ids;
    const own = idle.pop() as (typeof idle)[number];
    for (const at of rollouts) own.write(next.rollout, at, "latin1");
    for (const at of attempts) own.write(next.attempt, at, "latin1");
    const answer = await post("/v1/traces", own, "application/x-protobuf");
    // An answer without bytes says that all spans were taken.
    if (answer.length > 4) throw new Error("the store turned spans down");
    idle.push(own);
    return SPANS;
  };
  return { step, spanBytes: body.length / SPANS };
}

interface Claimed {
  rollout_id: string;
  attempt: { attempt_id: string };
}

async function cycle(): Promise<number> {
  await json("/queues/rollouts/enqueue", { rollouts: [{ input: { question: "6 * 7" }, mode: "train" }] });
  const claimed = await json<Claimed[]>("/queues/rollouts/dequeue", { limit: 1, worker_id: null });
  for (const { rollout_id, attempt } of claimed) {
    await json(`/rollouts/${rollout_id}/attempts/${attempt.attempt_id}`, { status: "succeeded" });
  }
  return claimed.length;
}

/** Seconds of processor time that the server has used; undefined where the system does not say. */
function serverCpu(): number | undefined {
  try {
    // Fields 14 and 15; the second, the program's name, may hold blanks.
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  } catch {
    return undefined;
  }
}

/** Runs `step` in `loops` loops for a time, and again with the clock running. */
async function rates(loops: number, step: () => Promise<number>): Promise<Omit<Rates, "spanBytes">> {
  const run = async (limit: number) => {
    const start = performance.now();
    let done = 0;
    const loop = async () => {
      while (performance.now() - start < limit * 1_000) {
        // In a step of its own: `+=` would read the sum before it waits, and lose what the other loops add.
        const more = await step();
        done += more;
      }
    };
    await Promise.all(Array.from({ length: loops }, loop));
    return { done, took: (performance.now() - start) / 1_000 };
  };
  await run(WARM_UP);
  const before = serverCpu();
  const { done, took } = await run(Number(seconds));
  const after = serverCpu();
  const used = before === undefined || after === undefined ? 0 : after - before;
  return { rate: done / took, perCpuSecond: used > 0 ? done / used : null };
}

async function measure(): Promise<Rates> {
  if (kind === "cycles") return { ...(await rates(WORKERS, cycle)), spanBytes: 0 };
  const { step, spanBytes } = await exportStep();
  return { ...(await rates(UNDER_WAY, step)), spanBytes };
}

process.stdout.write(`${JSON.stringify(await measure())}\n`);
process.exit(0);
