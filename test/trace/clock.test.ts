import fc from "fast-check";
import { expect, test } from "vitest";
import { createClock, type Timestamp } from "../../src/trace/clock.ts";
import { times } from "../times.ts";

const seconds = ([s, n]: Timestamp) => s + n / 1e9;

test("it starts at the wall clock and moves with the monotonic one", () => {
  let mono = 5;
  const clock = createClock(
    () => 1_700_000_000_123 + (mono - 5),
    () => mono,
  );
  expect(clock()).toEqual([1_700_000_000, 123_000_000]);
  mono += 2.5;
  expect(clock()).toEqual([1_700_000_000, 125_500_000]);
});

test("readings are at least a microsecond apart even when the clocks stand still, also as floats of seconds", () => {
  const clock = createClock(
    () => 1_999_999_999_999,
    () => 7,
  );
  let last = clock();
  for (let i = 0; i < 3_000; i++) {
    const next = clock();
    expect((next[0] - last[0]) * 1e9 + next[1] - last[1]).toBe(1_000);
    expect(seconds(next)).toBeGreaterThan(seconds(last));
    last = next;
  }
});

test("a suspended machine: the wall clock is followed after a jump forwards", () => {
  let wall = 1_000_000;
  const clock = createClock(
    () => wall,
    () => 0,
  );
  clock();
  wall += 3_600_000;
  expect(clock()[0]).toBe(1_000 + 3_600);
});

test("whatever the clocks do, time rises strictly", () => {
  const step = fc.tuple(
    fc.double({ min: -5_000, max: 5_000, noNaN: true }),
    fc.double({ min: 0, max: 5_000, noNaN: true }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      let wall = 1_700_000_000_000;
      let mono = 0;
      const clock = createClock(
        () => Math.floor(wall),
        () => mono,
      );
      let last = clock();
      for (const [w, m] of steps) {
        wall += w;
        mono += m;
        const next = clock();
        expect(seconds(next)).toBeGreaterThan(seconds(last));
        expect(next[1]).toBeGreaterThanOrEqual(0);
        expect(next[1]).toBeLessThan(1e9);
        last = next;
      }
    }),
    times(100),
  );
});
