/**
 * An error as OpenTelemetry's exception attributes. Accepts anything that can be thrown, and never throws itself.
 *
 * @module
 */
import type { Attributes } from "../protocol/json.ts";

/** What is recorded of an error. */
export interface ErrorDescription {
  type: string;
  message: string;
  attributes: Attributes;
}

/** Describes a thrown value; the type is the constructor's name, since vendors leave `name` at "Error". */
export function describeError(error: unknown): ErrorDescription {
  let type = typeof error as string;
  let message = "";
  let stack: string | undefined;
  try {
    if (typeof error === "object" && error !== null) {
      const value = error as { constructor?: { name?: unknown }; message?: unknown; stack?: unknown };
      type = typeof value.constructor?.name === "string" ? value.constructor.name : "Error";
      message = typeof value.message === "string" ? value.message : String(error);
      if (typeof value.stack === "string") stack = value.stack;
    } else {
      message = String(error);
    }
  } catch {
    message = "(the error could not be read)";
  }
  const attributes: Attributes = { "exception.type": type, "exception.message": message };
  if (stack !== undefined) attributes["exception.stacktrace"] = stack;
  return { type, message, attributes };
}
