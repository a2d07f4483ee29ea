/**
 * The plainest value that fits a JSON schema, for structured answers and forced tool calls that no test scripted.
 *
 * @module
 */
import type { Json, JsonObject } from "../protocol/json.ts";

const MAX_DEPTH = 16;

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Follows a `#/...` reference within the schema's document. */
function resolve(reference: string, root: JsonObject): Json | undefined {
  let found: Json | undefined = root;
  for (const step of reference.replace(/^#\/?/, "").split("/").filter(Boolean)) {
    found = isObject(found) ? found[step.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  }
  return found;
}

/**
 * A value that fits `schema`: the first of an `enum` or `anyOf`, `"text"`, 1, true, a list of as few items as allowed,
 * an object with its required properties (all of them when none is named as required).
 */
export function sampleJson(schema: Json | undefined, root?: JsonObject, depth = 0): Json {
  if (!isObject(schema) || depth > MAX_DEPTH) return null;
  const document = root ?? schema;
  const sample = (inner: Json | undefined) => sampleJson(inner, document, depth + 1);
  if (typeof schema["$ref"] === "string") return sample(resolve(schema["$ref"], document));
  if ("const" in schema) return schema["const"]!;
  if (Array.isArray(schema["enum"])) return schema["enum"][0] ?? null;
  const choices = schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"];
  if (Array.isArray(choices)) return sample(choices[0]);
  const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  switch (type ?? (isObject(schema["properties"]) ? "object" : undefined)) {
    case "object": {
      const properties = isObject(schema["properties"]) ? schema["properties"] : {};
      const required = Array.isArray(schema["required"])
        ? schema["required"].map(String)
        : Object.keys(properties);
      return Object.fromEntries(required.map((name) => [name, sample(properties[name])]));
    }
    case "array": {
      const least = typeof schema["minItems"] === "number" ? schema["minItems"] : 0;
      return Array.from({ length: least }, () => sample(schema["items"]));
    }
    case "string":
      return "text".padEnd(typeof schema["minLength"] === "number" ? schema["minLength"] : 0, ".");
    case "integer":
    case "number":
      return typeof schema["minimum"] === "number" ? schema["minimum"] : 1;
    case "boolean":
      return true;
    default:
      return null;
  }
}
