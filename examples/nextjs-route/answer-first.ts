/**
 * A rollout in a request: the visitor gets the answer as soon as it is there, and the spans are delivered after that.
 *
 * @module
 */
// In an app of your own: import * as agl from "agentlightning".
import * as agl from "../../src/index.ts";

/**
 * Runs `fn` as a rollout and gives back its value, or throws its error, before the rollout is delivered.
 *
 * @param keepAlive - has the platform wait for the delivery: `after` of Next, or the `waitUntil` of others
 */
export function answerFirst<R>(
  options: agl.RolloutOptions,
  fn: () => Promise<R>,
  keepAlive: (delivered: Promise<unknown>) => void,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const answer = async () => {
      const value = await fn();
      resolve(value);
    };
    const delivered = agl
      .rollout(options, answer)
      .catch(reject)
      .then(() => agl.flush());
    keepAlive(delivered);
  });
}
