/**
 * What can happen to each kind of call of the AI SDK.
 *
 * @module
 */
import { z } from "zod";
import type { Gate } from "../../../src/testing/gate.ts";
import type { Fault, ReplyScript } from "../../../src/testing/model-reply.ts";
import { turn } from "../recorded.ts";
import { agentOf, type Scenario, type Stage } from "./scenario.ts";
import type { AnyModule } from "./versions.ts";

/** A kind of call. */
interface Kind {
  name: string;
  /** Starts the call; gives its result, or the stream of its parts. */
  start(stage: Stage, options: AnyModule): AnyModule;
  model(stage: Stage): AnyModule;
  streams: boolean;
  agent: boolean;
}

const schema = z.object({ city: z.string() });
const prompt = "Where?";

const language = (stage: Stage) => stage.model();
const whole = (name: string, start: Kind["start"], model = language): Kind => ({
  ...{ name, start, model, streams: false, agent: false },
});
const streamed = (name: string, start: Kind["start"]): Kind => ({ ...whole(name, start), streams: true });

/** An agent is given to the call what belongs to the call, the rest when it is made. */
function agent(stage: Stage, { abortSignal, ...settings }: AnyModule) {
  const call = { prompt, ...(abortSignal && { abortSignal }) };
  return { agent: agentOf(stage, "solver", settings), call };
}

const KINDS: readonly Kind[] = [
  whole("generateText", ({ ai }, options) => ai.generateText({ prompt, ...options })),
  whole("generateObject", ({ ai }, options) => ai.generateObject({ schema, prompt, ...options })),
  whole(
    "embed",
    ({ ai }, options) => ai.embed({ value: prompt, ...options }),
    ({ provider }) => provider.textEmbeddingModel("toy"),
  ),
  {
    ...whole("agent", (stage, options) => {
      const { agent: made, call } = agent(stage, options);
      return made.generate(call);
    }),
    agent: true,
  },
  streamed(
    "streamText",
    ({ ai }, options) => ai.streamText({ prompt, onError: () => {}, ...options }).fullStream,
  ),
  streamed(
    "streamObject",
    ({ ai }, options) => ai.streamObject({ schema, prompt, onError: () => {}, ...options }).fullStream,
  ),
  {
    ...streamed("streaming agent", async (stage, options) => {
      const { agent: made, call } = agent(stage, { onError: () => {}, ...options });
      return (await made.stream(call)).fullStream;
    }),
    agent: true,
  },
];

/** What happens to a call. */
interface Failure {
  name: string;
  /** Streams only, whole answers only, or both. */
  of?: "streams" | "whole";
  /** Majors where it can happen. */
  majors?: readonly number[];
  fault?: (gate: Gate) => Fault;
  /** Fails once, then answers. */
  once?: true;
  does?: "abort" | "break" | "ignore";
  options?: (stage: Stage, kind: Kind) => object;
  /** Outcomes of the model spans; that of an agent is the last unless told. */
  outcomes: readonly string[] | ((major: number, kind: Kind) => readonly string[]);
  agent?: string;
}

const ANSWER = '{"city":"one two three four five six seven eight nine ten eleven twelve"}';
/** Before version 7 the SDK reads texts to their end whoever leaves; since then it stops reading, and tells nobody. */
const left = (major: number) => (major === 7 ? ["incomplete"] : ["ok"]);

const FAILURES: readonly Failure[] = [
  { name: "nothing", outcomes: ["ok"] },
  {
    name: "a 503 first",
    fault: () => ({ status: 503, headers: { "retry-after-ms": "1" } }),
    once: true,
    outcomes: ["error", "ok"],
  },
  {
    name: "a refusal",
    fault: () => ({ status: 400, body: { error: { message: "bad" } } }),
    outcomes: ["error"],
  },
  {
    name: "a dead socket",
    fault: () => ({ cut: { after: 4, how: "reset" } }),
    options: () => ({ maxRetries: 0 }),
    outcomes: ["error"],
  },
  {
    name: "an error chunk",
    of: "streams",
    fault: () => ({ cut: { after: 4, how: "error" } }),
    outcomes: ["error"],
  },
  {
    name: "an abort before the answer",
    of: "whole",
    fault: (gate) => ({ gate: () => gate.pass() }),
    does: "abort",
    outcomes: ["aborted"],
    agent: "error",
  },
  {
    name: "an abort in the answer",
    of: "streams",
    fault: (gate) => ({ gate: (n) => (n > 6 ? gate.pass() : undefined) }),
    does: "abort",
    outcomes: ["aborted"],
  },
  {
    name: "a reader who leaves",
    of: "streams",
    does: "break",
    outcomes: (major, { name }) => (name === "streamObject" ? ["ok"] : left(major)),
  },
  {
    name: "no reader",
    of: "streams",
    does: "ignore",
    outcomes: (major, { name }) => (name === "streamObject" ? ["incomplete"] : left(major)),
  },
  {
    name: "a model given by its name",
    options: (stage) => {
      (globalThis as AnyModule).AI_SDK_DEFAULT_PROVIDER = stage.provider;
      return { model: "toy" };
    },
    outcomes: ["ok"],
  },
  {
    name: "a model that is instrumented as well",
    options: (stage, kind) => ({ model: stage.wrap(stage.wrap(kind.model(stage))) }),
    outcomes: ["ok"],
  },
  {
    name: "telemetry that goes elsewhere",
    majors: [7],
    options: (_stage, { agent }) => ({
      telemetry: { integrations: [{}], ...(agent && { functionId: "solver" }) },
    }),
    outcomes: ["ok"],
  },
];

async function run(kind: Kind, failure: Failure, stage: Stage): Promise<void> {
  const controller = new AbortController();
  const signal = failure.does === "abort" ? { abortSignal: controller.signal } : {};
  try {
    const model = kind.model(stage);
    const started = kind.start(stage, { model, ...signal, ...failure.options?.(stage, kind) });
    if (!kind.streams) {
      if (failure.does === "abort") void stage.gate.arrived().then(() => controller.abort());
      const { text, object, embedding, finishReason, usage, response } = await started;
      stage.note("result", { text, object, embedding, finishReason, usage, response });
    } else if (failure.does === "ignore") {
      await started;
      await sent(stage);
    } else {
      await read(await started, failure, stage, controller);
    }
  } catch (error) {
    stage.note("failed", error);
  } finally {
    delete (globalThis as AnyModule).AI_SDK_DEFAULT_PROVIDER;
  }
}

async function read(
  stream: AsyncIterable<AnyModule>,
  { does }: Failure,
  stage: Stage,
  controller: AbortController,
): Promise<void> {
  let aborted = false;
  for await (const part of stream) {
    // Which of the parts before an abort are seen is a race of its own.
    if (does !== "abort") stage.note("part", part);
    if (does === "break" && part.type === "text-delta") {
      await sent(stage);
      break;
    }
    if (does === "abort" && part.type === "text-delta" && !aborted) {
      aborted = true;
      await stage.gate.arrived();
      controller.abort();
    }
  }
}

/** Waits until the answer has been sent, and could have been read. */
async function sent(stage: Stage): Promise<void> {
  await (await stage.server.request(0)).ended;
  for (let i = 0; i < 50; i++) await turn();
}

function replyOf(failure: Failure, gate: Gate): ReplyScript {
  const good = { content: ANSWER, chunkTokens: 2 };
  if (failure.fault === undefined) return good;
  const bad = { ...good, fault: failure.fault(gate) };
  return failure.once ? [bad, good] : [bad];
}

/** Every kind of call with everything that can happen to it. */
export const FAILING_CALLS: ReadonlyArray<Scenario & { majors: readonly number[] }> = KINDS.flatMap((kind) =>
  FAILURES.filter(({ of }) => of === undefined || (of === "streams") === kind.streams).map((failure) => {
    const outcomes = (major: number): string[] => {
      const own = [
        ...(typeof failure.outcomes === "function" ? failure.outcomes(major, kind) : failure.outcomes),
      ];
      const last = kind.streams ? own.at(-1)! : (failure.agent ?? own.at(-1)!);
      return kind.agent ? [...own, last] : own;
    };
    const span = kind.name === "embed" ? "openai.embedding" : "openai.chat.completion";
    return {
      name: `${kind.name}: ${failure.name}`,
      majors: failure.majors ?? [5, 6, 7],
      reply: (gate) => replyOf(failure, gate),
      run: (stage) => run(kind, failure, stage),
      tree(major) {
        const calls = outcomes(major).slice(0, kind.agent ? -1 : undefined);
        const lines = calls.map(() => (kind.agent ? `  ${span} [solver]` : span));
        return [...(kind.agent ? ["invoke_agent solver [solver]"] : []), ...lines].join("\n");
      },
      outcomes,
      open: (major) => (outcomes(major).includes("incomplete") ? outcomes(major).length : 0),
    };
  }),
);
