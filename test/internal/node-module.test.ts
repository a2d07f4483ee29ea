import { afterEach, expect, test, vi } from "vitest";
import { gzip } from "../../src/export/gzip.ts";
import { nodeModule } from "../../src/internal/node-module.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("gives a module of Node's, and nothing for a name that it does not have", () => {
  expect(nodeModule<{ gzip: unknown }>("node:zlib")?.gzip).toBeTypeOf("function");
  expect(nodeModule("node:nothing")).toBeUndefined();
});

/** As Next's edge runtime has it: the names are there, and throw. */
const refuse = () => {
  throw new Error("A Node.js API is used which is not supported in the Edge Runtime.");
};

test.each([
  ["in a runtime without them", () => undefined],
  ["at the edge", refuse],
])("nothing %s, where bytes are packed by what the runtime has", async (_name, load) => {
  vi.spyOn(process, "getBuiltinModule").mockImplementation(load as never);
  expect(nodeModule("node:zlib")).toBeUndefined();
  const packed = await gzip(new Uint8Array(100));
  expect(packed!.length).toBeGreaterThan(0);
  expect(packed!.length).toBeLessThan(100);
  vi.stubGlobal("CompressionStream", refuse);
  expect(await gzip(new Uint8Array(100))).toBeUndefined();
});
