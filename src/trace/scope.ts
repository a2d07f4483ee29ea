/**
 * Where the running code is: its rollout, its agent, the span around it. Follows `await`, timers and promises by
 * `AsyncLocalStorage`; work that another task pumps (queues, event emitters) is bound by hand with {@link bind}.
 *
 * @module
 */
import { nodeModule } from "../internal/node-module.ts";
import { ownGlobal } from "../internal/own-global.ts";
import type { OpenSpan } from "./open-span.ts";
import type { RolloutScope } from "./rollout-scope.ts";

/** Model calls recorded inside a call that an outer layer records itself only when no inner layer has. */
export interface InnerCalls {
  calls: number;
  /** The same of the outer layer around it. */
  readonly outer: InnerCalls | undefined;
}

/** An immutable place in the program. */
export interface Scope {
  /** The rollout that the code works for. */
  readonly rollout: RolloutScope | undefined;
  /** Name of the agent that the code is part of. */
  readonly agent: string | undefined;
  /** The span that new spans are children of. */
  readonly span: OpenSpan | undefined;
  /** True where an outer layer records model calls itself. */
  readonly suppressed: boolean;
  /** Where an outer layer has the model calls inside counted. */
  readonly inner?: InnerCalls | undefined;
}

interface Storage {
  run<R>(store: Scope, fn: () => R): R;
  getStore(): Scope | undefined;
}

type StorageClass = new () => Storage;

/** Runtimes without AsyncLocalStorage (browsers) know the scope only while synchronous code runs. */
function createSyncStorage(): Storage {
  let current: Scope | undefined;
  return {
    run(scope, fn) {
      const outer = current;
      current = scope;
      try {
        return fn();
      } finally {
        current = outer;
      }
    },
    getStore: () => current,
  };
}

function createStorage(): Storage {
  interface Hooks {
    AsyncLocalStorage?: StorageClass;
  }
  const hooks = nodeModule<Hooks>("node:async_hooks");
  const Class = hooks?.AsyncLocalStorage ?? (globalThis as Hooks).AsyncLocalStorage;
  return Class === undefined ? createSyncStorage() : new Class();
}

const storage: Storage = ownGlobal("scope", createStorage);

const whole = ownGlobal<{ scope: Scope | undefined }>("process-scope", () => ({ scope: undefined }));

/** Puts all code of the process that is in no other scope into `scope`. */
export function setProcessScope(scope: Scope | undefined): void {
  whole.scope = scope;
}

/** Gives the place where the code is, when a framework's own storage knows a deeper one than `own`. */
export type ScopeFinder = (own: Scope | undefined) => Scope | undefined;

const finder = ownGlobal<{ find: ScopeFinder | undefined }>("scope-finder", () => ({ find: undefined }));

/** Has `find` asked for every scope from now on; for a framework that runs code without telling where it begins. */
export function setScopeFinder(find: ScopeFinder): void {
  finder.find = find;
}

/** The scope that this package itself has put the running code into. */
export function ownScope(): Scope | undefined {
  return storage.getStore() ?? whole.scope;
}

/** The scope of the running code; undefined outside every rollout, agent and span. */
export function currentScope(): Scope | undefined {
  const own = ownScope();
  return finder.find === undefined ? own : finder.find(own);
}

/** Runs `fn` in the current scope with `changes`. */
export function withScope<R>(changes: Partial<Scope>, fn: () => R): R {
  const outer = currentScope();
  return storage.run(
    {
      rollout: "rollout" in changes ? changes.rollout : outer?.rollout,
      agent: "agent" in changes ? changes.agent : outer?.agent,
      span: "span" in changes ? changes.span : outer?.span,
      suppressed: changes.suppressed ?? outer?.suppressed ?? false,
      inner: "inner" in changes ? changes.inner : outer?.inner,
    },
    fn,
  );
}

/** Something that runs code with stores around it: a channel of `node:diagnostics_channel`. */
export interface StoreBinder {
  bindStore(storage: unknown, enter: (message: never) => Scope | undefined): void;
}

/** Has the code that a channel runs be in the scope that `enter` gives for the channel's message; it must not throw. */
export function bindStore<M>(channel: StoreBinder, enter: (message: M) => Scope | undefined): void {
  channel.bindStore(storage, enter as (message: never) => Scope | undefined);
}

/** Runs `fn` in exactly `scope`. */
export function runIn<R>(scope: Scope | undefined, fn: () => R): R {
  return scope === undefined ? fn() : storage.run(scope, fn);
}

/**
 * Ties a function to the scope it is bound in: whoever calls it later, its spans belong to the rollout and agent of
 * here. For callbacks that other code calls: queues, event emitters, worker pools.
 *
 * @example
 * ```ts
 * import * as agl from "agentlightning";
 * const pending: Array<() => void> = [];
 * pending.push(agl.bind(() => agl.emitReward(1)));
 * ```
 */
export function bind<F extends (...args: never[]) => unknown>(fn: F): F {
  const scope = currentScope();
  const bound = function (this: unknown, ...args: never[]) {
    return runIn(scope, () => fn.apply(this, args));
  };
  return bound as unknown as F;
}
