/**
 * Values as JSON and as span attributes.
 *
 * @module
 */

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** What a span attribute can be on every wire: a scalar or an array of one scalar type (upstream refuses the rest). */
export type AttributeValue = string | number | boolean | string[] | number[] | boolean[];

/** Attributes by name. */
export type Attributes = Record<string, AttributeValue>;
