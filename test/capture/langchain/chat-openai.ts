/**
 * LangChain's ChatOpenAI in front of a model server of a test's own.
 *
 * @module
 */
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";
import { type ModelServer, type ModelServerOptions, serveModel } from "../../../src/testing/model-server.ts";

/** What {@link chatOpenAI} gives. */
export interface ChatOpenAIFixture {
  /** The server; there from the test file's `beforeAll` to its `afterAll`. */
  readonly server: ModelServer;
  /** A model that asks the server, once a call. */
  modelOf(more?: ConstructorParameters<typeof ChatOpenAI>[0]): ChatOpenAI;
}

/** Starts a server for the tests of this file and instruments the class; called at the top of the file. */
export function chatOpenAI(options?: ModelServerOptions): ChatOpenAIFixture {
  let server: ModelServer | undefined;
  beforeAll(async () => {
    server = await serveModel(options);
    instrument(ChatOpenAI);
  });
  afterAll(() => server?.close());
  return {
    get server() {
      return server!;
    },
    modelOf: (more = {}) =>
      new ChatOpenAI({
        model: "toy",
        apiKey: "none",
        maxRetries: 0,
        configuration: { baseURL: server!.url },
        ...more,
      }),
  };
}
