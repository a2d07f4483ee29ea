/**
 * The clock of all spans. Upstream matches rewards to model calls by time, so two readings are never equal and never
 * out of order: each is at least one microsecond after the one before, in every span of the process. (The OpenTelemetry
 * SDK's own start times are cut to milliseconds while its end times are not, so a reward would often start "before" the
 * call that it follows has ended.)
 *
 * @module
 */
import { ownGlobal } from "../internal/own-global.ts";

/** Seconds and nanoseconds since the epoch: OpenTelemetry's `HrTime`. */
export type Timestamp = [seconds: number, nanoseconds: number];

/** Source of span times. */
export type Clock = () => Timestamp;

/** Smallest distance of two readings, in nanoseconds; a float of seconds since the epoch still tells them apart. */
const STEP_NS = 1_000;
/** The wall clock is trusted again when it has moved this far away (ms), as after a suspended machine. */
const MAX_DRIFT_MS = 1_000;

/**
 * A strictly rising clock, anchored to the wall clock and moved by the monotonic one.
 *
 * @param wall - milliseconds since the epoch; `Date.now` by default
 * @param monotonic - milliseconds from any origin, never falling; `performance.now` by default
 */
export function createClock(
  wall: () => number = Date.now,
  monotonic: () => number = () => performance.now(),
): Clock {
  // Whole milliseconds and the nanoseconds within stay apart: a double cannot hold the nanoseconds of an epoch time.
  let anchorWall = wall();
  let anchorMono = monotonic();
  let lastSeconds = 0;
  let lastNanos = 0;
  return () => {
    const wallNow = wall();
    let elapsed = monotonic() - anchorMono;
    if (Math.abs(wallNow - (anchorWall + elapsed)) > MAX_DRIFT_MS) {
      anchorWall = wallNow;
      anchorMono += elapsed;
      elapsed = 0;
    }
    const wholeMs = Math.floor(elapsed);
    const ms = anchorWall + wholeMs;
    let seconds = Math.floor(ms / 1000);
    let nanos = Math.floor(ms - seconds * 1000) * 1_000_000 + Math.floor((elapsed - wholeMs) * 1_000) * 1_000;
    if (seconds < lastSeconds || (seconds === lastSeconds && nanos < lastNanos + STEP_NS)) {
      seconds = lastSeconds;
      nanos = lastNanos + STEP_NS;
      if (nanos >= 1_000_000_000) {
        seconds += 1;
        nanos -= 1_000_000_000;
      }
    }
    lastSeconds = seconds;
    lastNanos = nanos;
    return [seconds, nanos];
  };
}

/** The clock that every copy of this package in the process shares. */
export const now: Clock = ownGlobal("clock", () => createClock());
