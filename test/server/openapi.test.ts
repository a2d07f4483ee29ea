import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createApp } from "../../src/server/app.ts";
import { openMemoryStore } from "../../src/store/memory-store.ts";

type Schema = Record<string, unknown>;
interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
  requestBody?: { required?: boolean; content: Record<string, { schema?: Schema }> };
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const upstream = JSON.parse(
  readFileSync(new URL("../fixtures/upstream-store-openapi.json", import.meta.url), "utf8"),
) as Document;

async function ours(): Promise<Document> {
  const app = createApp({ store: await openMemoryStore() });
  return (await (await app.request("/openapi.json")).json()) as Document;
}

/** Every property that a schema leads to, as a line; `!` when it must be there. Two equal sets are one shape. */
function shapeOf(schema: Schema | undefined, document: Document, at: string, lines: Set<string>): void {
  if (schema === undefined) return;
  const ref = schema["$ref"] as string | undefined;
  if (ref !== undefined) {
    shapeOf(document.components.schemas[ref.split("/").at(-1) as string], document, at, lines);
    return;
  }
  for (const branch of ["anyOf", "oneOf", "allOf"]) {
    for (const each of (schema[branch] ?? []) as Schema[]) shapeOf(each, document, at, lines);
  }
  if (schema["type"] === "array") shapeOf(schema["items"] as Schema, document, `${at}[]`, lines);
  const extra = schema["additionalProperties"];
  // The value of an attribute is a union without properties of its own.
  if (typeof extra === "object" && extra !== null) shapeOf(extra as Schema, document, `${at}{}`, lines);
  const required = (schema["required"] ?? []) as string[];
  for (const [name, each] of Object.entries((schema["properties"] ?? {}) as Record<string, Schema>)) {
    lines.add(`${at}.${name}${required.includes(name) ? "!" : ""}`);
    shapeOf(each, document, `${at}.${name}`, lines);
  }
}

/** All facts of an operation that a client depends on. */
function factsOf(document: Document, path: string, method: string): Set<string> {
  const facts = new Set<string>();
  const operation = document.paths[path]?.[method];
  if (operation === undefined) return facts;
  for (const { name, in: place, required, schema } of operation.parameters ?? []) {
    // Upstream does not write a default of null down.
    const byDefault = (schema["default"] ?? null) !== null ? ` = ${JSON.stringify(schema["default"])}` : "";
    facts.add(`${place} ${name}${required ? "!" : ""}${place === "query" ? byDefault : ""}`);
  }
  const body = operation.requestBody;
  if (body !== undefined) {
    facts.add(`body${body.required ? "!" : ""}`);
    shapeOf(body.content["application/json"]?.schema, document, "body", facts);
  }
  for (const [status, response] of Object.entries(operation.responses)) {
    facts.add(`status ${status}`);
    shapeOf(response.content?.["application/json"]?.schema, document, "reply", facts);
  }
  return facts;
}

/** Keys that our answers always have and that upstream's document does not promise. */
const ALWAYS_THERE =
  /^reply(\.items\[\]|\[\])?(\.attempt)?\.(end_time|mode|resources_id|status|config|metadata|worker_id|last_\w+_time|heartbeat_stats|current_\w+_id)!?$/;

/** Differences that are meant: operation, fact, and who has it. A pattern stands for all operations. */
const PERMITTED: { operation: RegExp; fact: RegExp; why: string }[] = [
  { operation: /./, fact: ALWAYS_THERE, why: "we always send every key, so we promise them" },
  {
    operation: /^post .*\/spans$/,
    fact: /^body\.(sequence_id|parent_id|status|attributes|events|links|start_time|end_time|context|parent|resource)!?$/,
    why: "a writer may leave out what may be null or empty (S24)",
  },
  { operation: /^post \/v1\/traces$/, fact: /^body!$/, why: "upstream reads the body without declaring it" },
  {
    operation: /^post \/v1\/(metrics|logs|development\/profiles)$/,
    fact: /^status (200|501)$/,
    why: "both answer 501; upstream declares 200",
  },
  {
    operation: /^(get|post) .*\/resources/,
    fact: /\{\}\.resource_type!?$/,
    why: "the tag is asked for by both",
  },
];

/** Operations that upstream does not have. */
const ADDITIVE = ["get /v1/agl/events", "post /v1/agl/spans/batch"];

function operationsOf(document: Document): string[] {
  return Object.entries(document.paths)
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`))
    .sort();
}

test("has upstream's operations and the additive ones, and no other", async () => {
  expect(operationsOf(await ours())).toEqual([...operationsOf(upstream), ...ADDITIVE].sort());
});

test.each(operationsOf(upstream))("%s agrees with upstream", async (operation) => {
  const [method, path] = operation.split(" ") as [string, string];
  const mine = factsOf(await ours(), path, method);
  const theirs = factsOf(upstream, path, method);
  const differences = [
    ...[...theirs].filter((fact) => !mine.has(fact)).map((fact) => ({ who: "upstream only", fact })),
    ...[...mine].filter((fact) => !theirs.has(fact)).map((fact) => ({ who: "ours only", fact })),
  ];
  const unexpected = differences.filter(
    ({ fact }) => !PERMITTED.some((each) => each.operation.test(operation) && each.fact.test(fact)),
  );
  expect(unexpected).toEqual([]);
});

test("a span in an answer has upstream's keys, all of them promised", async () => {
  const strip = (facts: Set<string>) =>
    [...facts].filter((fact) => fact.startsWith("reply")).map((fact) => fact.replace("!", ""));
  const mine = factsOf(await ours(), "/v1/agl/spans/search", "post");
  expect(strip(mine).sort()).toEqual(strip(factsOf(upstream, "/v1/agl/spans/search", "post")).sort());
  const keys = [...mine].filter((fact) => /^reply\.items\[\]\.\w+!$/.test(fact));
  expect(keys).toHaveLength(16);
});

test("every permitted difference is still there", async () => {
  const document = await ours();
  for (const permitted of PERMITTED) {
    const used = operationsOf(upstream)
      .filter((operation) => permitted.operation.test(operation))
      .some((operation) => {
        const [method, path] = operation.split(" ") as [string, string];
        const mine = factsOf(document, path, method);
        const theirs = factsOf(upstream, path, method);
        return [...mine, ...theirs].some(
          (fact) => permitted.fact.test(fact) && mine.has(fact) !== theirs.has(fact),
        );
      });
    expect(used, permitted.why).toBe(true);
  }
});

test("is OpenAPI 3.1 whose references all lead somewhere", async () => {
  const document = await ours();
  expect(document.openapi).toBe("3.1.0");
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]);
  expect(references.length).toBeGreaterThan(30);
  for (const reference of new Set(references)) {
    expect(document.components.schemas).toHaveProperty([
      (reference as string).replace("#/components/schemas/", ""),
    ]);
  }
});
