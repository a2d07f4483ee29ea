import type OpenAI from "openai";
import type { AzureOpenAI } from "openai";
import type { APIPromise } from "openai/core/api-promise";
import type { Stream } from "openai/core/streaming";
import type { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ParsedChatCompletion,
} from "openai/resources/chat/completions";
import type { CreateEmbeddingResponse } from "openai/resources/embeddings";
import type { Response as ModelResponse, ResponseStreamEvent } from "openai/resources/responses/responses";
import { expectTypeOf, test } from "vitest";
import { instrument } from "../../src/capture/instrument.ts";

declare const bare: OpenAI;
const client = instrument(bare);
const messages = [{ role: "user" as const, content: "Hi" }];

test("the client keeps its type", () => {
  expectTypeOf(client).toEqualTypeOf<OpenAI>();
  expectTypeOf(instrument({} as AzureOpenAI)).toEqualTypeOf<AzureOpenAI>();
  expectTypeOf(instrument<"other">).returns.toEqualTypeOf<"other">();
  expectTypeOf(client.withOptions({ timeout: 1 })).toEqualTypeOf<OpenAI>();
});

test("the overloads of create", () => {
  const { completions } = client.chat;
  expectTypeOf(completions.create({ model: "m", messages })).toEqualTypeOf<APIPromise<ChatCompletion>>();
  expectTypeOf(completions.create({ model: "m", messages, stream: false })).toEqualTypeOf<
    APIPromise<ChatCompletion>
  >();
  expectTypeOf(completions.create({ model: "m", messages, stream: true })).toEqualTypeOf<
    APIPromise<Stream<ChatCompletionChunk>>
  >();
  const stream = false as boolean;
  expectTypeOf(completions.create({ model: "m", messages, stream })).toEqualTypeOf<
    APIPromise<Stream<ChatCompletionChunk> | ChatCompletion>
  >();
  expectTypeOf(completions.create({ model: "m", messages }).asResponse()).toEqualTypeOf<Promise<Response>>();
});

test("the helpers", () => {
  expectTypeOf(client.chat.completions.parse({ model: "m", messages })).toEqualTypeOf<
    APIPromise<ParsedChatCompletion<null>>
  >();
  expectTypeOf(client.chat.completions.stream({ model: "m", messages })).toEqualTypeOf<
    ChatCompletionStream<null>
  >();
});

test("responses and embeddings", () => {
  expectTypeOf(client.responses.create({ model: "m", input: "Hi" })).toEqualTypeOf<
    APIPromise<ModelResponse>
  >();
  expectTypeOf(client.responses.create({ model: "m", input: "Hi", stream: true })).toEqualTypeOf<
    APIPromise<Stream<ResponseStreamEvent>>
  >();
  expectTypeOf(client.embeddings.create({ model: "m", input: "Hi" })).toEqualTypeOf<
    APIPromise<CreateEmbeddingResponse>
  >();
});
