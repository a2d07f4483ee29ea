/**
 * Storing spans over HTTP: in one request where the server has a route for batches, else one by one.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import type { Page } from "../protocol/rollout.ts";
import type { Span } from "../protocol/span.ts";
import type { AddSpanResult, SpanInput } from "../store/interface.ts";
import type { Call, Transport } from "./request.ts";

/** Spans in one request of the batch route. */
const BATCH = 500;

/** {@link LightningStore.addSpans} for one store. */
export type AddSpans = (
  spans: readonly SpanInput[],
  signal: AbortSignal | undefined,
) => Promise<AddSpanResult[]>;

/** All keys, because the Python server refuses a span that lacks one, even one that may be null. */
function complete(span: SpanInput): SpanInput {
  return {
    ...span,
    parent_id: span.parent_id ?? null,
    status: span.status ?? { status_code: "UNSET", description: null },
    attributes: span.attributes ?? {},
    events: span.events ?? [],
    links: span.links ?? [],
    start_time: span.start_time ?? null,
    end_time: span.end_time ?? null,
    context: span.context ?? null,
    parent: span.parent ?? null,
    resource: span.resource ?? { attributes: {}, schema_url: "" },
  };
}

function hasSequence(span: SpanInput): span is SpanInput & { sequence_id: number } {
  return typeof span.sequence_id === "number" && Number.isInteger(span.sequence_id) && span.sequence_id > 0;
}

/** Makes the function for one store; it remembers whether the server has the batch route. */
export function createAddSpans(transport: Transport): AddSpans {
  let batchRoute: boolean | undefined;

  const post = (path: string, body: unknown, rest: Pick<Call, "repeatable" | "signal">) =>
    transport.send({ method: "POST", path, body, ...rest });

  async function addBatch(spans: readonly SpanInput[], signal: AbortSignal | undefined) {
    const results: AddSpanResult[] = [];
    for (let i = 0; i < spans.length; i += BATCH) {
      const body = { spans: spans.slice(i, i + BATCH).map(complete) };
      results.push(...((await post("/spans/batch", body, { repeatable: true, signal })) as AddSpanResult[]));
    }
    return results;
  }

  async function storedSpan(span: SpanInput, signal: AbortSignal | undefined): Promise<Span> {
    const { rollout_id, attempt_id, span_id } = span;
    const query = { rollout_id, attempt_id, span_id };
    const page = (await post("/spans/search", query, { repeatable: true, signal })) as Page<Span>;
    const found = page.items[0];
    if (found !== undefined) return found;
    throw new AglError(
      "internal",
      `The store calls span ${span_id} of rollout ${rollout_id} a duplicate, but has none.`,
    );
  }

  async function addOne(span: SpanInput, signal: AbortSignal | undefined): Promise<AddSpanResult> {
    try {
      let whole = complete(span);
      if (!hasSequence(whole)) {
        const { rollout_id, attempt_id } = span;
        const issued = await post("/spans/next", { rollout_id, attempt_id }, { repeatable: false, signal });
        whole = { ...whole, sequence_id: (issued as { sequence_id: number }).sequence_id };
      }
      const stored = (await post("/spans", whole, { repeatable: true, signal })) as Span | null;
      if (stored !== null) return { status: "stored", span: stored };
      return { status: "duplicate", span: await storedSpan(span, signal) };
    } catch (error) {
      if (AglError.is(error) && (error.code === "not_found" || error.code === "invalid_argument")) {
        return { status: "rejected", reason: error.message };
      }
      throw error;
    }
  }

  return async (spans, signal) => {
    if (spans.length === 0) return [];
    if (batchRoute !== false) {
      try {
        const results = await addBatch(spans, signal);
        batchRoute = true;
        return results;
      } catch (error) {
        if (batchRoute || !AglError.is(error) || error.code !== "unsupported") throw error;
        batchRoute = false;
      }
    }
    const results: AddSpanResult[] = [];
    for (const span of spans) results.push(await addOne(span, signal));
    return results;
  };
}
