/**
 * For tests: a model server with faults on demand, a sink in memory, span trees as text, and the store's contract suite.
 *
 * @module
 */
export type { FinishedSpan, LateAttributes } from "../trace/finished-span.ts";
export { createGate, type Gate } from "./gate.ts";
export { createMemorySink, type MemorySink } from "./memory-sink.ts";
export type {
  AnswerChoice,
  ModelAnswer,
  Segment,
  SegmentKind,
  TokenLogprob,
} from "./model-answer.ts";
export type { Flavour } from "./model-format.ts";
export { completionText } from "./model-prompt.ts";
export {
  type ChoiceReply,
  contextLengthReply,
  type Fault,
  type ModelMessage,
  type ModelOperation,
  type ModelRequest,
  type Reply,
  type ReplyScript,
  type ToolCallReply,
} from "./model-reply.ts";
export {
  type ModelServer,
  type ModelServerOptions,
  type RecordedRequest,
  serveModel,
} from "./model-server.ts";
export { spanTree } from "./span-tree.ts";
export {
  type ContractApi,
  type ContractClock,
  type ContractMatchers,
  type OpenedStore,
  type OpenStore,
  storeContract,
} from "./store-contract.ts";
export { type DecodeOptions, decode, END_ID, encode, VOCABULARY_SIZE } from "./toy-tokenizer.ts";
