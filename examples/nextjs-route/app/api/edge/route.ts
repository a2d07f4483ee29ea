/**
 * The same route on the edge runtime.
 *
 * @module
 */
export const runtime = "edge";

export { POST } from "../solve/route.ts";
