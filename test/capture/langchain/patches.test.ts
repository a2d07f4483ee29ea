/**
 * What `instrument` changes in LangChain: a few methods, and nothing else.
 */
import * as manager from "@langchain/core/callbacks/manager";
import * as chatModels from "@langchain/core/language_models/chat_models";
import * as llms from "@langchain/core/language_models/llms";
import * as runnables from "@langchain/core/runnables";
import * as singletons from "@langchain/core/singletons";
import * as tools from "@langchain/core/tools";
import * as callers from "@langchain/core/utils/async_caller";
import * as langgraph from "@langchain/langgraph";
import * as openai from "@langchain/openai";
import { expect, test } from "vitest";
import { instrument } from "../../../src/capture/instrument.ts";

const MODULES = [manager, chatModels, llms, runnables, singletons, tools, callers, langgraph, openai];

/** Every property of every exported class and object, by its name. */
function properties(): Map<string, unknown> {
  const all = new Map<string, unknown>();
  for (const [name, value] of MODULES.flatMap((module) => Object.entries(module))) {
    const owners = typeof value === "function" ? [value, value.prototype] : [Object.getPrototypeOf(value)];
    for (const [at, owner] of owners.entries()) {
      if (typeof owner !== "object" && typeof owner !== "function") continue;
      for (const key of Reflect.ownKeys(owner ?? {})) {
        const { value: own, get } = Object.getOwnPropertyDescriptor(owner, key)!;
        all.set(`${name}${at === 0 && owners.length > 1 ? "." : "#"}${String(key)}`, own ?? get);
      }
    }
  }
  return all;
}

test("the methods that are replaced", () => {
  const before = properties();
  instrument(openai.ChatOpenAI);
  const after = properties();
  expect([...after.keys()]).toEqual([...before.keys()]);
  const changed = [...after].filter(([name, value]) => before.get(name) !== value).map(([name]) => name);
  expect(changed.sort()).toEqual([
    "BaseChatModel#_generateUncached",
    "BaseChatModel#_streamIterator",
    "CallbackManager._configureSync",
    "RunnableLambda#_invoke",
  ]);
});
