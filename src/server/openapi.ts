/**
 * The OpenAPI document, made of the route table and the schemas.
 *
 * @module
 */
import * as z from "zod";
import { ROUTES, type Route } from "../protocol/routes.ts";
import { COMPONENTS, SCHEMAS, type SchemaName } from "../protocol/schemas.ts";

type JsonSchema = Record<string, unknown>;

/** Media types of the one route whose body is not JSON alone. */
const OTLP_CONTENT = { "application/x-protobuf": {}, "application/json": {} };

/** The document of this server. */
export function createOpenApi(version: string): Record<string, unknown> {
  const schemas = createSchemas();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, route] of Object.entries(ROUTES) as [string, Route][]) {
    const operations = { [route.method.toLowerCase()]: operation(name, route, schemas) };
    paths[route.path] = { ...paths[route.path], ...operations };
  }
  return {
    openapi: "3.1.0",
    info: { title: "LightningStore", version },
    paths,
    components: {
      schemas: schemas.components,
      securitySchemes: { key: { type: "http", scheme: "bearer" } },
    },
    security: [{ key: [] }],
  };
}

interface Schemas {
  components: Record<string, JsonSchema>;
  /** The schema itself, or a reference where it is a component. */
  inline(name: SchemaName): JsonSchema;
}

function createSchemas(): Schemas {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(COMPONENTS)) registry.add(schema, { id });
  // What is not a component is registered too, or zod would write the components inside it out in full.
  for (const [id, schema] of Object.entries(SCHEMAS)) {
    if (!(id in COMPONENTS)) registry.add(schema, { id });
  }
  const { schemas } = z.toJSONSchema(registry, {
    io: "input",
    unrepresentable: "any",
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ zodSchema, jsonSchema }) => Object.assign(jsonSchema, z.globalRegistry.get(zodSchema)),
  }) as { schemas: Record<string, JsonSchema> };
  for (const schema of Object.values(schemas)) {
    delete schema["$schema"];
    delete schema["$id"];
  }
  const components = Object.fromEntries(Object.keys(COMPONENTS).map((id) => [id, schemas[id] as JsonSchema]));
  return {
    components,
    inline: (name) =>
      name in COMPONENTS ? { $ref: `#/components/schemas/${name}` } : (schemas[name] as JsonSchema),
  };
}

function operation(name: string, route: Route, schemas: Schemas): Record<string, unknown> {
  const json = (schema: JsonSchema) => ({ "application/json": { schema } });
  const parameters = [
    ...[...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => ({
      name: parameter,
      in: "path",
      required: true,
      schema: { type: "string" },
    })),
    ...(route.query === undefined ? [] : queryParameters(schemas.components[route.query] as JsonSchema)),
  ];
  const success: Record<string, unknown> = {
    description: route.status === 501 ? "Not kept here" : "Success",
  };
  if (route.reply !== undefined) success["content"] = json(schemas.inline(route.reply));
  else if (name === "otlpTraces") success["content"] = OTLP_CONTENT;
  else if (name === "events") success["content"] = { "text/event-stream": {} };
  else if (route.status !== 501) success["content"] = json({ type: "object" });
  return {
    operationId: name,
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== undefined && {
      requestBody: {
        ...(route.bodyOptional === undefined && { required: true }),
        content: json(schemas.inline(route.body)),
      },
    }),
    ...(name === "otlpTraces" && { requestBody: { required: true, content: OTLP_CONTENT } }),
    responses: { [route.status ?? 200]: success },
    ...(route.open && { security: [] }),
  };
}

function queryParameters(schema: JsonSchema): Record<string, unknown>[] {
  const required = (schema["required"] ?? []) as string[];
  return Object.entries(schema["properties"] as Record<string, JsonSchema>).map(([name, each]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema: each,
  }));
}
