/**
 * Compression off the main thread.
 *
 * @module
 */
import { nodeModule } from "../internal/node-module.ts";

type Zlib = Pick<typeof import("node:zlib"), "gzip">;

// Level 1: half the bytes saved cost a fifth of the time, and the trip to a store is short.
const LEVEL = 1;

/** `bytes`, gzipped, or undefined where the runtime cannot. */
export async function gzip(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const zlib = nodeModule<Zlib>("node:zlib");
  if (zlib !== undefined) {
    return new Promise((resolve) => {
      zlib.gzip(bytes, { level: LEVEL }, (error, packed) =>
        resolve(error === null ? (packed as Uint8Array<ArrayBuffer>) : undefined),
      );
    });
  }
  if (typeof CompressionStream === "undefined") return undefined;
  try {
    const packed = new Blob([bytes as Uint8Array<ArrayBuffer>])
      .stream()
      .pipeThrough(new CompressionStream("gzip"));
    return new Uint8Array(await new Response(packed).arrayBuffer());
  } catch {
    // Next's edge runtime has the name, and throws when it is used.
    return undefined;
  }
}
