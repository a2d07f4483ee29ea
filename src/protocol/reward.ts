/**
 * Rewards, links and tags as span attributes, and back. The names are upstream's: `agentlightning.reward.0.name` and
 * `.value` for the primary dimension, then one index for each further dimension.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import { flatten } from "./flatten.ts";
import type { Attributes } from "./json.ts";
import { Agl, SpanName } from "./semconv.ts";
import type { Span } from "./span.ts";

/** A reward: one number, or named dimensions of which one is primary. Booleans count as 1 and 0. */
export type RewardValue = number | boolean | Readonly<Record<string, number | boolean>>;

/** One dimension of a reward. */
export interface RewardDimension {
  name: string;
  value: number;
}

/** Name of the dimension when the reward is a single number. */
export const PRIMARY = "primary";

/**
 * The dimensions of a reward, the primary one first.
 *
 * @throws AglError `invalid_argument` for a value that is not a finite number, for a map without a primary key, or for
 * a primary key that is not in the map.
 */
export function rewardDimensions(reward: RewardValue, primaryKey?: string): RewardDimension[] {
  if (typeof reward !== "object" || reward === null) {
    if (primaryKey !== undefined) {
      throw new AglError(
        "invalid_argument",
        `primaryKey "${primaryKey}" was given for a reward with one value. Leave it out, or give the reward as a map of named dimensions.`,
      );
    }
    return [{ name: PRIMARY, value: finite(reward, "the reward") }];
  }
  const names = Object.keys(reward);
  const list = names.map((name) => `"${name}"`).join(", ");
  if (names.length === 0)
    throw new AglError("invalid_argument", "The reward has no dimension. Give at least one.");
  if (primaryKey === undefined) {
    throw new AglError(
      "invalid_argument",
      `A reward with named dimensions needs a primary one. Pass { primaryKey } with one of ${list}.`,
    );
  }
  if (!Object.hasOwn(reward, primaryKey)) {
    throw new AglError("invalid_argument", `primaryKey "${primaryKey}" is not among the dimensions ${list}.`);
  }
  return [primaryKey, ...names.filter((name) => name !== primaryKey)].map((name) => ({
    name,
    value: finite(reward[name], `reward dimension "${name}"`),
  }));
}

function finite(value: unknown, what: string): number {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const shown = typeof value === "string" ? `"${value}"` : String(value);
  throw new AglError(
    "invalid_argument",
    `${what[0]?.toUpperCase()}${what.slice(1)} must be a finite number, got ${shown}. JSON and the trainer cannot carry it; emit a number such as 0 instead, or nothing.`,
  );
}

/** Attributes of a reward span. */
export function rewardAttributes(dimensions: readonly RewardDimension[]): Attributes {
  const attributes: Attributes = {};
  dimensions.forEach(({ name, value }, i) => {
    attributes[`${Agl.Reward}.${i}.name`] = name;
    attributes[`${Agl.Reward}.${i}.value`] = value;
  });
  return attributes;
}

/** Attributes that link a span to those whose attribute `key` (or `span_id`, `trace_id`) equals the value. */
export function linkAttributes(links: Readonly<Record<string, string>>): Attributes {
  const list = Object.entries(links).map(([key_match, value_match]) => ({ key_match, value_match }));
  return flatten(Agl.Link, list, { expandLists: true });
}

/** Attributes that tag a span. */
export function tagAttributes(tags: readonly string[]): Attributes {
  return flatten(Agl.Tag, tags, { expandLists: true });
}

/**
 * The reward that a span carries, primary dimension first; empty when it is no reward span. Reads what this package
 * and upstream 0.3 write, and upstream's older formats (AgentOps outputs, v0.2's `reward` attribute).
 */
export function readReward(span: Pick<Span, "name" | "attributes">): RewardDimension[] {
  const dimensions: RewardDimension[] = [];
  for (let i = 0; ; i++) {
    const name = span.attributes[`${Agl.Reward}.${i}.name`];
    const value = span.attributes[`${Agl.Reward}.${i}.value`];
    if (typeof name !== "string" || typeof value !== "number") break;
    dimensions.push({ name, value });
  }
  if (dimensions.length > 0) return dimensions;
  const legacy = legacyReward(span);
  return legacy === undefined ? [] : [{ name: PRIMARY, value: legacy }];
}

function legacyReward({ name, attributes }: Pick<Span, "name" | "attributes">): number | undefined {
  for (const key of ["agentops.task.output", "agentops.entity.output"]) {
    let output = attributes[key];
    if (typeof output === "string") {
      try {
        output = JSON.parse(output);
      } catch {
        continue;
      }
    }
    if (
      typeof output === "object" &&
      output !== null &&
      !Array.isArray(output) &&
      output["type"] === "reward"
    ) {
      return typeof output["value"] === "number" ? output["value"] : undefined;
    }
  }
  const old = name === SpanName.Annotation ? attributes["reward"] : undefined;
  return typeof old === "number" ? old : undefined;
}
