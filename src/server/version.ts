/**
 * The version of this package, as a constant because a bundle does not know where its package.json is.
 *
 * @module
 */

/** Equal to `version` in package.json; a test compares them. */
export const VERSION = "0.1.0";
