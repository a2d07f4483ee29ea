/**
 * The libraries whose files are extended when the app loads them.
 *
 * @module
 */

/** A file of a library, and what of it is handed over at the end of its evaluation. */
export interface LibraryFile {
  /** Match the path inside the package: of the ES module, and of the other one, which may be an ES module too. */
  readonly esm: RegExp;
  readonly cjs: RegExp;
  /** Names of the file's own scope; undefined: everything that the file exports. */
  readonly names?: readonly string[];
  /** Those of them that are given another value: functions and classes of the file. */
  readonly replaced?: readonly string[];
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

/** A file of LangChain's. */
const inDist = (path: string, name: string): LibraryFile => ({
  esm: new RegExp(`^dist/${path}\\.js$`),
  cjs: new RegExp(`^dist/${path}\\.cjs$`),
  names: [name],
});

const AGENTS: LibraryFile = { esm: /^dist\/index\.mjs$/, cjs: /^dist\/index\.js$/ };

/** Number of the file of `library` at `path` inside the package, or -1. */
export const fileNumber = (library: Library, path: string): number =>
  library.files.findIndex(({ esm, cjs }) => esm.test(path) || cjs.test(path));

/** Name of this package. */
export const OWN_NAME = "agentlightning";

/** Every library that is known. */
export const LIBRARIES: readonly Library[] = [
  // Of this package only that the app uses it itself.
  {
    name: OWN_NAME,
    since: 0,
    alias: /agentlightning/,
    files: [{ esm: /^dist\/index\.js$/, cjs: /^dist\/index\.cjs$/, names: [] }],
  },
  {
    name: "openai",
    since: 4,
    alias: /openai/,
    // The class of the clients moved from the index in openai 5.
    files: [{ esm: /^(?:index|client)\.mjs$/, cjs: /^(?:dist\/index|index|client)\.js$/, names: ["OpenAI"] }],
  },
  {
    name: "ai",
    since: 5,
    alias: /(?:^|\W)ai(?:$|\W)/,
    files: [
      {
        esm: /^dist\/index\.mjs$/,
        // Version 7 is an ES module.
        cjs: /^dist\/index\.js$/,
        names: ["gateway"],
        replaced: [
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
        ],
      },
    ],
  },
  {
    name: "@langchain/core",
    since: 0,
    alias: /langchain/,
    files: [
      inDist("callbacks/manager", "CallbackManager"),
      inDist("singletons/async_local_storage/index", "AsyncLocalStorageProviderSingleton"),
      inDist("utils/async_caller", "AsyncCaller"),
      inDist("language_models/chat_models", "BaseChatModel"),
      inDist("language_models/llms", "BaseLLM"),
    ],
  },
  {
    name: "@openai/agents",
    since: 0,
    alias: /agents/,
    files: [AGENTS],
  },
  // An app may do without the package around it.
  { name: "@openai/agents-core", since: 0, alias: /agents-core/, files: [AGENTS] },
  {
    name: "@anthropic-ai/sdk",
    since: 0,
    alias: /anthropic/,
    files: [{ esm: /^(?:index|client)\.mjs$/, cjs: /^(?:index|client)\.js$/, names: ["Anthropic"] }],
  },
  {
    name: "@modelcontextprotocol/sdk",
    since: 1,
    alias: /modelcontextprotocol|mcp/,
    files: [
      {
        esm: /^dist\/(?:esm\/)?client\/index\.js$/,
        cjs: /^dist\/cjs\/client\/index\.js$/,
        names: ["Client"],
      },
    ],
  },
  {
    name: "@modelcontextprotocol/client",
    since: 0,
    alias: /modelcontextprotocol|mcp/,
    files: [{ esm: /^dist\/index\.mjs$/, cjs: /^dist\/index\.cjs$/ }],
  },
];
