import { expect, it } from "vitest";
import { sampleJson } from "../../src/testing/sample-json.ts";

it.each([
  [
    "the required properties only",
    { properties: { a: {}, b: { type: "boolean" } }, required: ["b"] },
    { b: true },
  ],
  ["all properties when none is required", { type: "object", properties: { a: { const: 3 } } }, { a: 3 }],
  ["as few items as allowed", { type: "array", items: { type: "integer", minimum: 5 }, minItems: 2 }, [5, 5]],
  ["no item when none is needed", { type: "array", items: { type: "string" } }, []],
  ["a string of the least length", { type: "string", minLength: 6 }, "text.."],
  ["the first of many types", { type: ["number", "null"] }, 1],
  ["the first of many schemas", { anyOf: [{ enum: ["x", "y"] }, { type: "null" }] }, "x"],
  ["nothing without a schema", undefined, null],
])("gives %s", (_name, schema, expected) => {
  expect(sampleJson(schema)).toEqual(expected);
});

it("follows references, and stops where they turn in a circle", () => {
  const schema = {
    $ref: "#/$defs/node",
    $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
  };
  let depth = 0;
  for (let value = sampleJson(schema) as { next: unknown } | null; value !== null; depth++) {
    value = value.next as { next: unknown } | null;
  }
  expect(depth).toBeGreaterThan(1);
  expect(sampleJson({ $ref: "#/$defs/gone" })).toBeNull();
});
