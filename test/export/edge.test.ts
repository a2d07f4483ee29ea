/** As Next's edge runtime has them: names of Node's that are there, and throw when they are used. */
import { afterEach, expect, test, vi } from "vitest";
import { installExitHooks } from "../../src/export/exit.ts";
import { gzip } from "../../src/export/gzip.ts";
import { nodeModule } from "../../src/internal/node-module.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const refuse = () => {
  throw new Error("A Node.js API is used which is not supported in the Edge Runtime.");
};

test("gives a module of Node's, and nothing for a name that it does not have", () => {
  expect(nodeModule<{ gzip: unknown }>("node:zlib")?.gzip).toBeTypeOf("function");
  expect(nodeModule("node:nothing")).toBeUndefined();
});

test.each([
  ["in a runtime without them", () => undefined],
  ["at the edge", refuse],
])("no modules %s, where bytes are packed by what the runtime has", async (_name, load) => {
  vi.spyOn(process, "getBuiltinModule").mockImplementation(load as never);
  expect(nodeModule("node:zlib")).toBeUndefined();
  const packed = await gzip(new Uint8Array(100));
  expect(packed!.length).toBeGreaterThan(0);
  expect(packed!.length).toBeLessThan(100);
  vi.stubGlobal("CompressionStream", refuse);
  expect(await gzip(new Uint8Array(100))).toBeUndefined();
});

test("no hooks at the end of a process that cannot be listened to", () => {
  const on = vi.spyOn(process, "on").mockImplementation(refuse);
  const sink = { pending: 0, flush: refuse, interrupt: refuse, rescue: refuse };
  expect(() => installExitHooks(sink as never)()).not.toThrow();
  expect(on).toHaveBeenCalled();
});
