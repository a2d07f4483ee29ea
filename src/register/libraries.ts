/**
 * The libraries whose files are extended when the app loads them.
 *
 * @module
 */

/** A file of a library, and what of it is handed over at the end of its evaluation. */
interface LibraryFile {
  /** Matches the path inside the package. */
  readonly path: RegExp;
  /** Names of the file's own scope. */
  readonly names: readonly string[];
}

/** A library. */
export interface Library {
  /** Name of the npm package. */
  readonly name: string;
  /** First major version that can be recorded. */
  readonly since: number;
  /** Matches the folder of a copy that is installed under another name. */
  readonly alias: RegExp;
  readonly files: readonly LibraryFile[];
}

/** Every library that is known. */
export const LIBRARIES: readonly Library[] = [
  {
    name: "openai",
    since: 4,
    alias: /openai/,
    // The class of the clients moved from the index in openai 5.
    files: [{ path: /^(?:dist\/)?(?:index|client)\.m?js$/, names: ["OpenAI"] }],
  },
  {
    name: "ai",
    since: 5,
    alias: /(?:^|\W)ai(?:$|\W)/,
    files: [
      {
        path: /^dist\/index\.m?js$/,
        names: [
          "generateText",
          "streamText",
          "streamTextLowMemory",
          "generateObject",
          "streamObject",
          "embed",
          "embedMany",
          "rerank",
          "ToolLoopAgent",
          "Agent",
          "resolveLanguageModel",
          "resolveEmbeddingModel",
          "resolveRerankingModel",
          "gateway",
        ],
      },
    ],
  },
  {
    name: "@langchain/core",
    since: 0,
    alias: /langchain/,
    files: [
      { path: /^dist\/callbacks\/manager\.c?js$/, names: ["CallbackManager"] },
      {
        path: /^dist\/singletons\/async_local_storage\/index\.c?js$/,
        names: ["AsyncLocalStorageProviderSingleton"],
      },
      { path: /^dist\/utils\/async_caller\.c?js$/, names: ["AsyncCaller"] },
      { path: /^dist\/language_models\/chat_models\.c?js$/, names: ["BaseChatModel"] },
      { path: /^dist\/language_models\/llms\.c?js$/, names: ["BaseLLM"] },
    ],
  },
];
