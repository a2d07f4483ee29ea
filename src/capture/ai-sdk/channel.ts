/**
 * The tracing channel of version 7. It tells of each operation, model call and tool, and has the code of each run in a
 * scope of ours; what it hands out is looked at and never touched, since the SDK goes on with the same objects.
 *
 * @module
 */
import { nodeModule } from "../../internal/node-module.ts";
import { ownGlobal } from "../../internal/own-global.ts";
import { bindStore, ownScope, type Scope, type StoreBinder, withScope } from "../../trace/scope.ts";
import { isObject, type Loose, objectAt } from "../openai/shape.ts";
import { isOwnCall, startAgent } from "./agents.ts";
import { isAbort, watchSteps } from "./stream-operation.ts";
import { announceModelCall, claimModelCall, openTool } from "./telemetry-event.ts";

const NAME = "ai:telemetry";

/** What the channel tells; the same object at the start and at the end. */
interface Message {
  type: string;
  event: Loose;
  result?: unknown;
  error?: unknown;
}

interface Traced {
  scope: Partial<Scope>;
  done(message: Message): void;
}

const TYPES: Readonly<Record<string, (event: Loose) => Traced | undefined>> = {
  generateText: (event) => operation(event, false),
  streamText: (event) => operation(event, true),
  languageModelCall(event) {
    const call = announceModelCall(event);
    return (
      call && {
        scope: call.scope,
        done(message) {
          if ("error" in message) call.failed(message.error);
          else if (claimModelCall(call.span) !== undefined) call.seen(message.result);
        },
      }
    );
  },
  executeTool(event) {
    const tool = openTool(event);
    return (
      tool && {
        scope: tool.scope,
        done: ({ error, result }) =>
          error === undefined ? tool.ended(objectAt(result, ["output"])) : tool.failed(error),
      }
    );
  },
};

/** A call with a function id is an agent's, unless the agent has made it itself. */
function operation({ functionId, maxRetries }: Loose, streams: boolean): Traced | undefined {
  if (typeof functionId !== "string" || functionId === "" || isOwnCall(functionId)) return undefined;
  const span = startAgent(functionId, functionId);
  if (span === undefined) return undefined;
  if (streams) watchSteps(span, maxRetries);
  return {
    scope: { agent: functionId, span },
    done({ error }) {
      if (error === undefined) span.end();
      else span.end({ outcome: streams && isAbort(error) ? "aborted" : "error", error });
    },
  };
}

/** Listens, once in the process; where there is no such channel nothing happens. */
export function listenToChannel(): void {
  // The channel itself is kept: one that nobody holds may be collected with its listeners.
  ownGlobal("ai-sdk-channel", open);
}

interface TracingChannel {
  start: StoreBinder;
  asyncEnd: { subscribe(listener: (message: unknown) => void): void };
}

function open(): TracingChannel | undefined {
  interface Channels {
    tracingChannel?: (name: string) => TracingChannel;
  }
  const channel = nodeModule<Channels>("node:diagnostics_channel")?.tracingChannel?.(NAME);
  if (channel === undefined) return undefined;
  const traced = new WeakMap<object, Traced>();
  // What is thrown here would end the process.
  bindStore<Message>(channel.start, (message) => {
    try {
      const opened = TYPES[message.type]?.(message.event);
      if (opened !== undefined) {
        traced.set(message, opened);
        return withScope(opened.scope, ownScope);
      }
    } catch {}
    return ownScope();
  });
  channel.asyncEnd.subscribe((message) => {
    try {
      if (isObject(message)) traced.get(message)?.done(message as unknown as Message);
    } catch {}
  });
  return channel;
}
