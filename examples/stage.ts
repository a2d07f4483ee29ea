/**
 * What the examples have around their agents: a model server, a place for the spans, and the account of them at the end.
 *
 * @module
 */
import * as agl from "../src/index.ts";
import {
  createMemorySink,
  type MemorySink,
  type ReplyScript,
  serveModel,
  spanTree,
} from "../src/testing/index.ts";

/** Where an example plays. */
export interface Stage {
  /** Base URL of the model for an OpenAI client. */
  readonly baseURL: string;
  /** Spans that have ended, once they are flushed. */
  readonly spans: MemorySink["spans"];
  /** Prints the tree of the spans, and how many model calls can be trained on. */
  show(result: { value: unknown; reward: number | undefined }): Promise<void>;
  close(): Promise<void>;
}

/** Serves a model that says `reply`, or takes the server whose base URL is the program's argument. */
export async function openStage(reply: ReplyScript): Promise<Stage> {
  const given = process.argv[2];
  const server = given === undefined ? await serveModel({ reply }) : undefined;
  const sink = createMemorySink();
  agl.configure({ exporters: [sink] });
  return {
    baseURL: given ?? server?.url ?? "",
    get spans() {
      return sink.spans;
    },
    async show({ value, reward }) {
      await agl.flush();
      console.log(spanTree(sink.spans));
      const calls = sink.spans.filter((span) => span.name === "openai.chat.completion");
      const trainable = calls.filter((span) => "response_token_ids" in span.attributes);
      console.log(
        `\nanswer ${value}, reward ${reward}; ${calls.length} model calls, ${trainable.length} with token ids`,
      );
    },
    async close() {
      await agl.shutdown();
      await server?.close();
    },
  };
}
