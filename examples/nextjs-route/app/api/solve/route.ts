/**
 * The agent behind a route that runs on Node. `POST` a JSON object with a `problem`.
 *
 * @module
 */
// In an app of your own: "next/server". The ending is for this repository's check of types.
import { after } from "next/server.js";
import { answerFirst } from "../../../answer-first.ts";
import { solve } from "../../../solve.ts";

export async function POST(request: Request): Promise<Response> {
  const { problem } = (await request.json()) as { problem: string };
  const answer = await answerFirst({ input: problem, mode: "train" }, () => solve(problem), after);
  return Response.json({ answer });
}
