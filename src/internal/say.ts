/**
 * Tells the user of a problem: through OpenTelemetry's `diag` where the app listens to it, else on the console, where
 * nobody who is affected would see it otherwise.
 *
 * @module
 */
import { diag } from "@opentelemetry/api";

/** Where the API of OpenTelemetry keeps what the app has registered. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");
const said = new Set<string>();

/**
 * Says `message`; on the console once for each `kind`, since a problem of a store comes back with every rollout. Never
 * throws.
 */
export function say(level: "warn" | "error", kind: string, message: string): void {
  try {
    const text = `agentlightning: ${message}`;
    diag[level](text);
    const registry = (globalThis as Record<symbol, { diag?: unknown } | undefined>)[REGISTRY];
    if (registry?.diag !== undefined || said.has(kind)) return;
    said.add(kind);
    console.warn(text);
  } catch {
    // A logger that fails is the app's own affair.
  }
}
