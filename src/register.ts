/**
 * `node --import agentlightning/register app.js`: records the model calls of an app whose code stays as it is.
 *
 * @module
 */
import { createRequire } from "node:module";
import { isMainThread } from "node:worker_threads";
import { ownGlobal } from "./internal/own-global.ts";
import { hookModules } from "./register/hooks.ts";
import { type Capture, createReceiver } from "./register/receiver.ts";

const require = createRequire(import.meta.url);
const loadCapture = (): Capture => require("./register/capture.cjs") as Capture;

ownGlobal("register", () => {
  const receiver = createReceiver(loadCapture);
  hookModules(new URL("./register/loader.js", import.meta.url), receiver);
  return receiver;
});
// Where the whole process is a rollout it has begun, whether or not a library is loaded. Not so in its other threads, one
// of which may be that of the hooks.
if (isMainThread && process.env["AGL_ROLLOUT_ID"]) loadCapture();
