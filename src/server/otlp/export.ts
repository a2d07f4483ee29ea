/**
 * `POST /v1/traces`: an export request in either encoding becomes spans in the store.
 *
 * @module
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Context } from "hono";
import { AglError } from "../../errors.ts";
import { decodeTracesJson } from "../../protocol/otlp/decode-json.ts";
import { decodeTracesProto } from "../../protocol/otlp/decode-proto.ts";
import type { Budget, SpanVisitor } from "../../protocol/otlp/otlp-span.ts";
import { scanTracesProto } from "../../protocol/otlp/scan-proto.ts";
import { malformed } from "../../protocol/otlp/wire.ts";
import type {
  AddEncodedResult,
  AddSpanResult,
  EncodedSpan,
  LightningStore,
  LocalStore,
  SpanInput,
} from "../../store/interface.ts";
import type { Admission, ServerLimits } from "../admission.ts";
import type { Logger } from "../log.ts";
import { refusalOf } from "../refusal.ts";
import { readBody, type ServerEnv } from "../request-body.ts";
import { PLACING, placeOf } from "./place.ts";
import {
  encodeExportReply,
  encodeStatus,
  JSON_TYPE,
  type OtlpType,
  type PartialSuccess,
  PROTOBUF,
} from "./reply.ts";

/** Different reasons that one answer tells. */
const REASONS_TOLD = 5;

/** What gzip adds by itself: the usual answer, that all was taken, is shorter than that. */
const GZIP_FRAME_BYTES = 20;

/** What the handler needs. */
export interface ExportDependencies {
  store: Pick<LightningStore, "addSpans"> | Pick<LocalStore, "addSpans" | "addEncodedSpans">;
  limits: ServerLimits;
  /** Bounds the bytes of all bodies. */
  bodies: Admission;
  /** Bounds the exports at work. */
  exports: Admission;
  logger: Logger;
}

/** A handler that answers in the encoding of the request, and as OTLP asks. */
export function createExportHandler(dependencies: ExportDependencies) {
  return async (c: Context<ServerEnv>): Promise<Response> => {
    const mediaType = (c.req.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
    const type: OtlpType = mediaType === PROTOBUF ? PROTOBUF : JSON_TYPE;
    try {
      if (mediaType !== type) {
        const given = mediaType === "" ? "A request without Content-Type" : `Content-Type ${mediaType}`;
        throw new AglError("invalid_argument", `${given} is not taken; send ${PROTOBUF} or ${JSON_TYPE}.`, {
          status: 415,
        });
      }
      const partial = await take(c, type, dependencies);
      return await answer(c, 200, type, encodeExportReply(type, partial));
    } catch (error) {
      const refusal = refusalOf(error, dependencies.logger);
      // OTLP knows one status for every fault of the payload.
      const status = refusal.status === 422 ? 400 : refusal.status;
      for (const [name, value] of Object.entries(refusal.headers)) c.header(name, value);
      return answer(c, status, type, encodeStatus(type, status, String(refusal.body.detail)));
    }
  };
}

async function take(
  c: Context<ServerEnv>,
  type: OtlpType,
  dependencies: ExportDependencies,
): Promise<PartialSuccess | undefined> {
  const { limits, logger } = dependencies;
  const slot = dependencies.exports.open();
  try {
    const lease = dependencies.bodies.open();
    try {
      const body = await readBody(c, limits.maxBodyBytes, lease);
      const rejected = createRejections();
      const spans = await store(type, body, dependencies, rejected);
      logger.debug("OTLP export", { spans, rejected: rejected.count() });
      return rejected.summary(logger);
    } finally {
      lease.release();
    }
  } finally {
    slot.release();
  }
}

/** Stores the spans of a body; gives the number of those that have a place. */
async function store(
  type: OtlpType,
  body: Buffer,
  { store, limits }: ExportDependencies,
  rejected: Rejections,
): Promise<number> {
  // An export without a body is an export of nothing.
  if (body.length === 0) return 0;
  const budget = { left: limits.maxExportObjects };
  // Spans are written once and read seldom: where the store can keep their bytes, nothing is decoded here.
  if (type === PROTOBUF && "addEncodedSpans" in store) {
    const spans = scan(body, budget, rejected);
    if (spans.length > 0) rejected.addResults(await store.addEncodedSpans(spans));
    return spans.length;
  }
  const spans = decode(type, body, budget, rejected);
  if (spans.length > 0) rejected.addResults(await store.addSpans(spans));
  return spans.length;
}

function scan(body: Buffer, budget: Budget, rejected: Rejections): EncodedSpan[] {
  const spans: EncodedSpan[] = [];
  scanTracesProto(body, budget, PLACING, (span, shared) => {
    const place = placeOf(span, shared);
    if (typeof place === "string") return rejected.add(place);
    // One literal: to spread objects into it costs more than to scan the span.
    spans.push({
      rollout_id: place.rollout_id,
      attempt_id: place.attempt_id,
      sequence_id: place.sequence_id,
      trace_id: span.trace_id,
      span_id: span.span_id,
      parent_id: span.parent_id,
      name: span.name,
      start_time: span.start_time,
      end_time: span.end_time,
      content: span.content,
    });
  });
  return spans;
}

function decode(type: OtlpType, body: Buffer, budget: Budget, rejected: Rejections): SpanInput[] {
  const spans: SpanInput[] = [];
  const visit: SpanVisitor = (span, resource) => {
    const place = placeOf(span, resource.attributes);
    if (typeof place === "string") return rejected.add(place);
    const { trace_id, span_id } = span;
    const context = { trace_id, span_id, is_remote: false, trace_state: {} };
    // OTLP carries the parent's id alone.
    spans.push({ ...place, ...span, context, parent: null, resource });
  };
  if (type === PROTOBUF) decodeTracesProto(body, budget, visit);
  else decodeTracesJson(parseJson(body), budget, visit);
  return spans;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
}

interface Rejections {
  add(reason: string): void;
  addResults(results: readonly (AddSpanResult | AddEncodedResult)[]): void;
  count(): number;
  /** What the answer says; undefined when nothing was rejected. */
  summary(logger: Logger): PartialSuccess | undefined;
}

function createRejections(): Rejections {
  const counts = new Map<string, number>();
  let total = 0;
  const add = (reason: string) => {
    total++;
    if (counts.has(reason) || counts.size < REASONS_TOLD) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  };
  return {
    add,
    addResults(results) {
      for (const result of results) if (result.status === "rejected") add(result.reason);
    },
    count: () => total,
    summary(logger) {
      if (total === 0) return undefined;
      const reasons = [...counts].map(([reason, count]) => `${count}: ${reason}`);
      const errorMessage = `Spans that were not stored: ${reasons.join("; ")}`;
      logger.warn("OTLP spans were rejected", { rejected: total, reasons });
      return { rejectedSpans: total, errorMessage };
    },
  };
}

async function answer(
  c: Context<ServerEnv>,
  status: number,
  type: OtlpType,
  body: Uint8Array,
): Promise<Response> {
  c.header("content-type", type);
  // The usual answer. A body that is there but has no bytes takes a third of the time of a small request.
  if (body.length === 0) {
    c.header("content-length", "0");
    return c.body(null, status as 200);
  }
  const accepted = (c.req.header("accept-encoding") ?? "").toLowerCase().split(",");
  if (
    body.length <= GZIP_FRAME_BYTES ||
    !accepted.some((coding) => /^\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*$)|$)/.test(coding))
  ) {
    return c.body(body as Uint8Array<ArrayBuffer>, status as 200);
  }
  c.header("content-encoding", "gzip");
  return c.body((await promisify(gzip)(body)) as Uint8Array<ArrayBuffer>, status as 200);
}
