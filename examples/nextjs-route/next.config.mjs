import { fileURLToPath } from "node:url";

/** @type {import("next").NextConfig} */
export default {
  // Only here, where the package is imported from the sources around the app, which are checked by themselves.
  turbopack: { root: fileURLToPath(new URL("../..", import.meta.url)) },
  typescript: { ignoreBuildErrors: true },
  // The build is made once, by itself.
  experimental: { turbopackFileSystemCacheForBuild: false, cpus: 1 },
};
