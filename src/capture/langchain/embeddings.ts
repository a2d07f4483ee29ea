/**
 * Patches LangChain's embeddings of OpenAI's: what they ask is recorded by the client that they make for themselves.
 *
 * @module
 */
import type { OpenAIOptions } from "../openai/settings.ts";
import { isObject, type Loose } from "../openai/shape.ts";
import { patch } from "../patch.ts";
import { instrumentClient, patchQueue } from "./model.ts";

/** Patches an instance or a prototype; false when it refuses. */
export function patchEmbeddings(embeddings: object, options: OpenAIOptions): boolean {
  return patch(embeddings, "embeddingWithRetry", (original) => {
    return function (...args) {
      if (!isObject(this)) return original.apply(this, args);
      patchQueue(this);
      if (instrumentClient(this["client"], options)) return original.apply(this, args);
      const restore = awaitClient(this, options);
      try {
        return original.apply(this, args);
      } finally {
        restore();
      }
    };
  });
}

/** The client is made and asked in one go: it is instrumented as it is put in its place. */
function awaitClient(owner: Loose, options: OpenAIOptions): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, "client");
  const place = { configurable: true, enumerable: before?.enumerable ?? true };
  let client = owner["client"];
  const waiting = Reflect.defineProperty(owner, "client", {
    ...place,
    get: () => client,
    set(value: unknown) {
      client = value;
      instrumentClient(client, options);
    },
  });
  return () => {
    if (before === undefined && client === undefined) Reflect.deleteProperty(owner, "client");
    else if (waiting) Reflect.defineProperty(owner, "client", { ...place, writable: true, value: client });
  };
}
