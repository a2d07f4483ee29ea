import { expect, test } from "vitest";
import { overrideThen, type Then } from "../../src/internal/thenable.ts";

/** Notes in `log` that `name` was asked, and passes the call on. */
const noting =
  (log: string[], name: string) =>
  (original: Then): Then =>
    function (this: unknown, onDone, onFailed) {
      log.push(name);
      return original.call(this, onDone, onFailed);
    };

class Lazy<T> extends Promise<T> {}

class Early<T> extends Promise<T> {
  constructor(executor: (resolve: (value: T) => void, reject: (reason: unknown) => void) => void) {
    super(executor);
    const then = super.then.bind(this);
    // biome-ignore lint/suspicious/noThenProperty: what this class is for
    Object.defineProperty(this, "then", { value: then, configurable: true, writable: true });
  }
}

const thenable = (value: number): PromiseLike<number> => {
  const promise = Promise.resolve(value);
  // biome-ignore lint/suspicious/noThenProperty: what is tested
  return { then: (onDone, onFailed) => promise.then(onDone, onFailed) } as PromiseLike<number>;
};

test.each<[string, () => PromiseLike<number>]>([
  ["a promise", () => Promise.resolve(7)],
  ["a promise of a subclass", () => Lazy.resolve(7)],
  ["a promise with a method of its own", () => Early.resolve(7)],
  ["another thenable", () => thenable(7)],
])("%s: each replacement sees the call, the last one first", async (_, make) => {
  const log: string[] = [];
  const target = make();
  const kind = target.constructor;
  expect(overrideThen(target, noting(log, "first"))).toBe(true);
  expect(overrideThen(target, noting(log, "second"))).toBe(true);
  await expect(target.then((value) => value + 1)).resolves.toBe(8);
  expect(log).toEqual(["second", "first"]);
  expect(target.constructor).toBe(kind);
  expect(Object.keys(target)).toEqual(Object.keys(make()));
});

test("catch and finally of a promise go through the replacement", async () => {
  const log: string[] = [];
  const target = Promise.reject(new Error("no"));
  overrideThen(target, noting(log, "then"));
  await expect(target.finally(() => log.push("finally")).catch(() => 3)).resolves.toBe(3);
  expect(log).toEqual(["then", "finally"]);
  expect(target).toBeInstanceOf(Promise);
});

test("two promises keep replacements of their own", async () => {
  const log: string[] = [];
  const [one, two] = [Promise.resolve(1), Promise.resolve(2)];
  overrideThen(one, noting(log, "one"));
  overrideThen(two, noting(log, "two"));
  await two.then();
  await one.then();
  expect(log).toEqual(["two", "one"]);
  await Promise.resolve(3).then();
  expect(log).toHaveLength(2);
});

test.each<[string, PromiseLike<number>]>([
  ["a frozen promise", Object.freeze(Promise.resolve(1))],
  ["a frozen thenable", Object.freeze(thenable(1))],
])("%s stays as it is", async (_, target) => {
  expect(overrideThen(target, () => () => "never")).toBe(false);
  await expect(target.then((value) => value)).resolves.toBe(1);
});
