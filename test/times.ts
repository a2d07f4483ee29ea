/**
 * How often a property is tried, and with which values.
 *
 * @module
 */

/** `PROPERTY_RUNS`: how many times more often than usual. */
const factor = process.env["PROPERTY_RUNS"];

/**
 * Settings of `fc.assert`: the same values in every run, so that the same commit always has the same result. With `PROPERTY_RUNS`
 * set there are that many times more, and other ones each time: that is how new faults are looked for.
 */
export function times(runs: number): { numRuns: number; seed?: number } {
  return factor === undefined ? { numRuns: runs, seed: 20_261_130 } : { numRuns: runs * Number(factor) };
}
